import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { Command, Option } from 'commander';
import { DELIVERY_POLICIES, type DeliveryPolicy } from '../../contracts/outcome.ts';
import type { GivenContact, GivenNotice } from '../../contracts/notice.ts';
import type { SendOptions } from '../../contracts/send-options.ts';
import {
  collect,
  duration,
  inFlags,
  templateVariables,
  time,
  wholeNumber,
  whyOption,
} from '../arguments.ts';
import { UsageError, type CommandContext, type Input } from '../command-context.ts';
import { countOf } from '../../format/format.ts';
import { recordDone } from '../record-done.ts';
import { openQueue, readConfig } from '../open-queue.ts';
import { print } from '../output.ts';

interface SendFlags {
  file?: string;
  template?: string;
  contact?: readonly string[];
  var?: readonly string[];
  scheduleType?: string;
  chatSenderKey?: string;
  senderKey?: string;
  idempotencyKey?: string;
  delay?: number;
  sendAt?: number;
  expiresAt?: number;
  priority?: number;
  delivery?: DeliveryPolicy;
  why?: string;
}

/** `notices send`: enqueues one notice and prints the receipt. */
export function sendCommand(context: CommandContext): Command {
  return new Command('send')
    .description('Queues one notice.')
    .option('--file <path>', 'JSON file with the notice, - for standard input')
    .option('--template <code>', 'template code')
    .option('--contact <number>', 'phone number in the national format (repeatable)', collect)
    .option('--var <name=value>', 'template variable of all contacts (repeatable)', collect)
    .option('--schedule-type <type>', 'schedule type (default: DIRECTLY)')
    .option('--chat-sender-key <key>', 'sender key of the messenger channel')
    .option('--sender-key <key>', 'sender key of SMS')
    .option('--idempotency-key <key>', 'enqueue at most one notice per key')
    .option(
      '--delay <duration>',
      'do not send for this long, such as 90s, 15m, 2h or 3d',
      // As the library; its schema takes long to load.
      duration(0, 366 * 86_400_000, 'ms'),
    )
    .option('--send-at <time>', 'do not send before this time, such as 2026-01-31T09:30', time)
    .option('--expires-at <time>', 'do not send after this time, such as 2026-01-31T09:30', time)
    .option('--priority <n>', '0 is sent first, then 1, 2, ...', wholeNumber(0, 2_097_151))
    .addOption(
      new Option(
        '--delivery <policy>',
        'what happens if the outcome is unknown (default: DELIVERY)',
      ).choices(DELIVERY_POLICIES),
    )
    .addOption(whyOption())
    .action(async (flags: SendFlags, command: Command) => {
      const notice = await noticeFrom(flags, context.stdin);
      const config = await readConfig(context);
      const queue = await openQueue(config);
      try {
        const receipt = await queue.send(notice, optionsFrom(flags));
        if (!receipt.duplicate) {
          const entry = { what: 'send', target: receipt.id, as: 'queued' } as const;
          const { contacts } = receipt;
          await recordDone(context, config, { ...entry, contacts, why: flags.why ?? '' });
        }
        print(context, command, receipt, () => [
          receipt.duplicate
            ? `Already enqueued as ${receipt.id} with this idempotency key; nothing was enqueued.`
            : `Enqueued ${receipt.id}: ${countOf(receipt.contacts, 'contact')}.`,
        ]);
      } catch (error) {
        const isNotice = flags.file === undefined;
        throw inFlags(command, error, isNotice ? { templateCode: 'template' } : undefined);
      } finally {
        await queue.close();
      }
    });
}

async function noticeFrom(flags: SendFlags, stdin: Input): Promise<GivenNotice> {
  if (flags.file !== undefined) {
    const { template, contact, var: variables, scheduleType, chatSenderKey, senderKey } = flags;
    const parts = [template, contact, variables, scheduleType, chatSenderKey, senderKey];
    if (parts.some((part) => part !== undefined)) {
      throw new UsageError(
        '--file contains the whole notice: remove --template, --contact, --var, --schedule-type, ' +
          '--chat-sender-key and --sender-key',
      );
    }
    // The queue validates it.
    return parseJson(await readInput(flags.file, stdin)) as GivenNotice;
  }
  if (flags.template === undefined || flags.contact === undefined) {
    throw new UsageError('use either --file, or --template and --contact');
  }
  const variables = templateVariables(flags.var);
  const contacts = flags.contact.map((contact): GivenContact => ({ ...variables, contact }));
  const { scheduleType, chatSenderKey, senderKey } = flags;
  return {
    templateCode: flags.template,
    ...(scheduleType === undefined ? {} : { scheduleType }),
    ...(chatSenderKey === undefined ? {} : { chatSenderKey }),
    ...(senderKey === undefined ? {} : { senderKey }),
    contacts,
  };
}

function optionsFrom(flags: SendFlags): SendOptions {
  const { idempotencyKey, delay, sendAt, expiresAt, priority, delivery } = flags;
  return {
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(delay === undefined ? {} : { delay }),
    ...(sendAt === undefined ? {} : { sendAt }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...(priority === undefined ? {} : { priority }),
    ...(delivery === undefined ? {} : { delivery }),
  };
}

async function readInput(path: string, stdin: Input): Promise<string> {
  const bytes = await readBytes(path, stdin);
  // Decoded, another encoding would be sent as replacement characters.
  if (!isUtf8(bytes)) {
    throw new UsageError('--file: expected UTF-8; save the file in this encoding');
  }
  return bytes.toString('utf8');
}

async function readBytes(path: string, stdin: Input): Promise<Buffer> {
  try {
    return path === '-' ? await buffer(stdin) : await readFile(path);
  } catch (error) {
    const { code } = error as { code?: string };
    throw new UsageError(`--file: cannot read ${path} (${code ?? 'unknown reason'})`);
  }
}

function parseJson(source: string): unknown {
  try {
    // Some editors write a byte order mark at the start of a file.
    return JSON.parse(source.replace(/^\uFEFF/, '')) as unknown;
  } catch {
    throw new UsageError('--file: expected one JSON object');
  }
}

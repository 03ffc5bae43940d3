import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { Command, Option } from 'commander';
import { loadConfig } from '../../config/config.ts';
import { DELIVERY_POLICIES, type DeliveryPolicy } from '../../contracts/delivery.ts';
import type { Contact, Notice } from '../../contracts/notice.ts';
import type { SendOptions } from '../../contracts/send-options.ts';
import { gather, wholeNumber } from '../arguments.ts';
import type { CommandContext, Input } from '../command-context.ts';
import { openQueue } from '../open-queue.ts';
import { print } from '../output.ts';
import { UsageError } from '../usage-error.ts';
import { variable } from '../variable.ts';

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
  sendAt?: string;
  expiresAt?: string;
  priority?: number;
  delivery?: DeliveryPolicy;
}

/** `notices send`: validates as the library does, and prints the receipt. */
export function sendCommand(context: CommandContext): Command {
  return new Command('send')
    .description('hand one notice to the queue')
    .option('--file <path>', 'the notice as a JSON file, - for standard input')
    .option('--template <code>', 'template code')
    .option('--contact <number>', 'a phone number in the national format (repeatable)', gather)
    .option('--var <name=value>', 'a template variable for all contacts (repeatable)', gather)
    .option('--schedule-type <type>', 'schedule type (default: DIRECTLY)')
    .option('--chat-sender-key <key>', 'sender key of the messenger channel')
    .option('--sender-key <key>', 'sender key for SMS')
    .option('--idempotency-key <key>', 'same key, one send')
    .option('--delay <ms>', 'milliseconds before it may be sent', wholeNumber(0, 2 ** 35))
    .option('--send-at <time>', 'when it may be sent: ISO 8601 with a zone')
    .option('--expires-at <time>', 'when it is too late: ISO 8601 with a zone')
    .option('--priority <n>', '0 first, then 1, 2, ...', wholeNumber(0, 2_097_151))
    .addOption(
      new Option('--delivery <policy>', 'when its outcome is unknown (default: DELIVERY)').choices(
        DELIVERY_POLICIES,
      ),
    )
    .action(async (flags: SendFlags, command: Command) => {
      const notice = await noticeFrom(flags, context.stdin);
      const config = loadConfig(context.env, { service: false });
      const queue = await openQueue(config);
      try {
        const receipt = await queue.send(notice, optionsFrom(flags));
        print(context, command, receipt, () => [
          receipt.duplicate
            ? `already queued as ${receipt.id} under this idempotency key; nothing was queued`
            : `queued ${receipt.id}: ${receipt.contacts} contacts in ${receipt.jobs.length} jobs`,
        ]);
      } finally {
        await queue.close();
      }
    });
}

async function noticeFrom(flags: SendFlags, stdin: Input): Promise<Notice> {
  if (flags.file !== undefined) {
    const { template, contact, var: variables, scheduleType, chatSenderKey, senderKey } = flags;
    const parts = [template, contact, variables, scheduleType, chatSenderKey, senderKey];
    if (parts.some((part) => part !== undefined)) {
      throw new UsageError(
        '--file holds the whole notice; leave out --template, --contact, --var, --schedule-type, ' +
          '--chat-sender-key and --sender-key',
      );
    }
    // The queue validates it as it does everything from outside.
    return parseJson(await readInput(flags.file, stdin)) as Notice;
  }
  if (flags.template === undefined || flags.contact === undefined) {
    throw new UsageError('give --template and --contact, or --file');
  }
  const variables = Object.fromEntries((flags.var ?? []).map(variable));
  const contacts = flags.contact.map((contact): Contact => ({ ...variables, contact }));
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
  try {
    return path === '-' ? await text(stdin) : await readFile(path, 'utf8');
  } catch (error) {
    const { code } = error as { code?: string };
    throw new UsageError(`--file: ${path} cannot be read (${code ?? 'unknown reason'})`);
  }
}

function parseJson(source: string): unknown {
  try {
    // Some editors begin a file with a byte order mark.
    return JSON.parse(source.replace(/^\uFEFF/, '')) as unknown;
  } catch {
    throw new UsageError('--file: expected one JSON object');
  }
}

import { isUtf8 } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { Command, Option } from 'commander';
import { DELIVERY_POLICIES } from '../../contracts/outcome.ts';
import type { GivenContact, GivenNotice } from '../../contracts/notice.ts';
import type { SendOptions } from '../../contracts/send-options.ts';
import {
  collect,
  duration,
  inFlags,
  optionFor,
  time,
  wholeNumber,
  whyOption,
} from '../arguments.ts';
import { UsageError, type CommandContext, type Input } from '../command-context.ts';
import { countOf } from '../../format/format.ts';
import { openQueue, readConfig, recordDone } from '../open-queue.ts';
import { print } from '../output.ts';

/** Flags of which a notice is made. */
type NoticeFlags = Pick<GivenNotice, 'scheduleType' | 'chatSenderKey' | 'senderKey'> & {
  readonly templateCode?: string | undefined;
  readonly contact?: readonly string[] | undefined;
  readonly var?: readonly string[] | undefined;
};

type SendFlags = NoticeFlags & SendOptions & { readonly file?: string; readonly why?: string };

/** `notices send`: enqueues one notice and prints the receipt. */
export function sendCommand(context: CommandContext): Command {
  return new Command('send')
    .description('Queues one notice.')
    .option('--file <path>', 'JSON file with the notice, - for standard input')
    .addOption(optionFor('templateCode', '--template <code>', 'template code'))
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
      const { file, why = '', templateCode, contact, var: pairs, ...others } = flags;
      const { scheduleType, chatSenderKey, senderKey, ...options } = others;
      const parts = { templateCode, contact, var: pairs, scheduleType, chatSenderKey, senderKey };
      const notice =
        file === undefined ? noticeFrom(parts) : await noticeIn(file, parts, context.stdin);
      const queue = await openQueue(await readConfig(context));
      try {
        const receipt = await queue.send(notice, options);
        if (!receipt.duplicate) {
          const entry = { what: 'send', target: receipt.id, as: 'queued' } as const;
          const { contacts } = receipt;
          await recordDone(context, { ...entry, contacts, why });
        }
        print(context, command, receipt, () => [
          receipt.duplicate
            ? `Already enqueued as ${receipt.id} with this idempotency key; nothing was enqueued.`
            : `Enqueued ${receipt.id}: ${countOf(receipt.contacts, 'contact')}.`,
        ]);
      } catch (error) {
        throw inFlags(command, error, file !== undefined);
      } finally {
        await queue.close();
      }
    });
}

function noticeFrom({ templateCode, contact, var: pairs, ...others }: NoticeFlags): GivenNotice {
  if (templateCode === undefined || contact === undefined) {
    throw new UsageError('use either --file, or --template and --contact');
  }
  const variables = Object.fromEntries(
    (pairs ?? []).map((pair) => {
      const at = pair.indexOf('=');
      if (at < 1) throw new UsageError('--var: expected name=value, such as var1=Kim');
      return [pair.slice(0, at), pair.slice(at + 1)];
    }),
  );
  const contacts = contact.map((number): GivenContact => ({ ...variables, contact: number }));
  return { templateCode, ...others, contacts };
}

async function noticeIn(file: string, flags: NoticeFlags, stdin: Input): Promise<GivenNotice> {
  if (Object.values(flags).some((part) => part !== undefined)) {
    throw new UsageError(
      '--file contains the whole notice: remove --template, --contact, --var, --schedule-type, ' +
        '--chat-sender-key and --sender-key',
    );
  }
  // The queue validates it.
  return (await readJson(file, stdin)) as GivenNotice;
}

/** @throws UsageError where the file is not one JSON value in UTF-8 */
async function readJson(path: string, stdin: Input): Promise<unknown> {
  const bytes = await (path === '-' ? buffer(stdin) : readFile(path)).catch((error: unknown) => {
    const { code } = error as { code?: string };
    throw new UsageError(`--file: cannot read ${path} (${code ?? 'unknown reason'})`);
  });
  // Decoded, another encoding would be sent as replacement characters.
  if (!isUtf8(bytes)) {
    throw new UsageError('--file: expected UTF-8; save the file in this encoding');
  }
  try {
    // Some editors write a byte order mark at the start of a file.
    return JSON.parse(bytes.toString('utf8').replace(/^\uFEFF/, '')) as unknown;
  } catch {
    throw new UsageError('--file: expected one JSON object');
  }
}

import { Command, InvalidArgumentError } from 'commander';
import { NoticeQueueError } from '../../contracts/errors.ts';
import type { AccountEvent } from '../../events/event.ts';
import { terminalLine, table } from '../../format/format.ts';
import { wholeNumber } from '../arguments.ts';
import { untilStopped, type CommandContext } from '../command-context.ts';
import { readConfig, withLedger } from '../open-queue.ts';
import { print, wantsJson, writeAll, writeJsonLine } from '../output.ts';

interface EventsFlags {
  from: string;
  limit?: number;
  follow?: boolean;
}

/** Events that are listed without `--limit`. */
const LISTED = 100;

const CURSOR = /^\d{1,19}(-\d{1,19})?$/;

/** `notices events`: events of the account, oldest first; tests the webhook, and posts events again. */
export function eventsCommand(context: CommandContext): Command {
  return new Command('events')
    .addCommand(listCommand(context), { isDefault: true })
    .addCommand(testCommand(context))
    .addCommand(replayCommand(context));
}

function listCommand(context: CommandContext): Command {
  return new Command('list')
    .description('list events, oldest first (default)')
    .option('--from <cursor>', 'only events after this one', cursor, '0')
    .option(
      '--limit <n>',
      `maximum number of events (default: ${LISTED}; with --follow: no maximum)`,
      wholeNumber(1, 10_000),
    )
    .option('--follow', 'go on with new events, one per line, until Ctrl-C or --limit')
    .action(({ from, limit, follow }: EventsFlags, command: Command) =>
      withLedger(context, async ({ redis, keys, config }) => {
        const { accountEvents, readAccountEvents } = await import('../../events/event.ts');
        const { describeEvent } = await import('../../events/describe.ts');
        const rowOf = (event: AccountEvent) => [
          new Date(event.at).toISOString(),
          event.event,
          describeEvent(event).title,
          event.cursor,
        ];
        if (follow !== true) {
          const { events } = await readAccountEvents(redis, keys, from, limit ?? LISTED);
          print(context, command, events, () =>
            events.length === 0
              ? ['No event is kept.']
              : table([['AT', 'EVENT', 'WHAT', 'CURSOR'], ...events.map(rowOf)]),
          );
          return;
        }
        const json = wantsJson(command);
        await untilStopped(context, async (signal) => {
          let left = limit ?? Infinity;
          for await (const event of accountEvents(config.redis, keys, { from, signal })) {
            const isRead = json
              ? await writeJsonLine(context.stdout, event)
              : await writeAll(context.stdout, `${terminalLine(rowOf(event).join('  '))}\n`);
            if (!isRead || --left === 0) return;
          }
        });
      }),
    );
}

function testCommand(context: CommandContext): Command {
  return new Command('test')
    .description('post a signed test to EVENT_WEBHOOK_URL; exit with 1 if the receiver refuses it')
    .action(async (_: unknown, command: Command) => {
      const { events, redis, account } = await readConfig(context);
      if (events === undefined) {
        throw new NoticeQueueError(
          'CONFIG_INVALID',
          'EVENT_WEBHOOK_URL and EVENT_WEBHOOK_SECRET are not set, so nothing can be posted.',
        );
      }
      const { Webhook } = await import('../../events/webhook.ts');
      const webhook = new Webhook(events, `${redis.prefix}:${account}`);
      try {
        const posted = await webhook.post({ events: [], missed: false });
        print(context, command, posted, () => [
          posted.taken
            ? `The receiver accepted the test (HTTP ${posted.status}).`
            : `The receiver did not accept it (${posted.why}). Check EVENT_WEBHOOK_URL and its secret at the receiver.`,
        ]);
        if (!posted.taken) context.end(1);
      } finally {
        await webhook.close();
      }
    });
}

function replayCommand(context: CommandContext): Command {
  return new Command('replay')
    .description('post the events after a cursor to the webhook again; 0 for all that are kept')
    .argument('<cursor>', 'cursor of an event, as "notices events" shows it', cursor)
    .action((from: string, _flags: object, command: Command) =>
      withLedger(context, async ({ redis, keys }) => {
        const { EventStore } = await import('../../events/store.ts');
        await new EventStore(redis, keys).replay(from);
        print(context, command, { cursor: from }, () => [
          `The events after ${from} are posted again, in their order.`,
        ]);
      }),
    );
}

function cursor(text: string): string {
  if (!CURSOR.test(text))
    throw new InvalidArgumentError("Expected the cursor of an event, or '0'.");
  return text;
}

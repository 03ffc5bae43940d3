import { Command, InvalidArgumentError } from 'commander';
import type { NoticeEvent } from '../../notices/notice-events.ts';
import { terminalLine } from '../../format/terminal-text.ts';
import { wholeNumber } from '../arguments.ts';
import { untilStopped, type CommandContext } from '../command-context.ts';
import { withLedger } from '../open-queue.ts';
import { print, table, wantsJson, writeAll, writeJsonLine } from '../output.ts';

interface EventsFlags {
  from: string;
  limit?: number;
  follow?: boolean;
}

/** Events that are listed without `--limit`. */
const LISTED = 100;

const CURSOR = /^\d{1,19}(-\d{1,19})?$/;

/** `notices events`: ends of single notices, oldest first. */
export function eventsCommand(context: CommandContext): Command {
  return new Command('events')
    .option('--from <cursor>', 'only events after this one', cursor, '0')
    .option(
      '--limit <n>',
      `maximum number of events (default: ${LISTED}; with --follow: no maximum)`,
      wholeNumber(1, 10_000),
    )
    .option('--follow', 'go on with new events, one per line, until Ctrl-C or --limit')
    .action(({ from, limit, follow }: EventsFlags, command: Command) =>
      withLedger(context, async ({ redis, keys, config }) => {
        const { noticeEvents, readNoticeEvents } = await import('../../notices/notice-events.ts');
        if (follow !== true) {
          const { events } = await readNoticeEvents(redis, keys, from, limit ?? LISTED);
          print(context, command, events, () => describe(events));
          return;
        }
        const json = wantsJson(command);
        await untilStopped(context, async (signal) => {
          let left = limit ?? Infinity;
          for await (const event of noticeEvents(config.redis, keys, { from, signal })) {
            const isRead = json
              ? await writeJsonLine(context.stdout, event)
              : await writeAll(context.stdout, `${terminalLine(rowOf(event).join('  '))}\n`);
            if (!isRead || --left === 0) return;
          }
        });
      }),
    );
}

function cursor(text: string): string {
  if (!CURSOR.test(text))
    throw new InvalidArgumentError("Expected the cursor of an event, or '0'.");
  return text;
}

const describe = (events: readonly NoticeEvent[]) =>
  events.length === 0
    ? ['No event is kept.']
    : table([['AT', 'NOTICE', 'STATE', 'CODE', 'CURSOR'], ...events.map(rowOf)]);

const rowOf = ({ at, notice, state, code = '', cursor: position }: NoticeEvent) => [
  new Date(at).toISOString(),
  notice,
  state,
  code,
  position,
];

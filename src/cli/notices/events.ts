import { Command, InvalidArgumentError } from 'commander';
import type { NoticeEvent } from '../../notices/notice-events.ts';
import { wholeNumber } from '../arguments.ts';
import { untilStopped, type CommandContext } from '../command-context.ts';
import { withLedger } from '../open-queue.ts';
import { print, table, writeJsonLine, writeLines } from '../output.ts';

interface EventsFlags {
  from: string;
  limit: number;
  follow?: boolean;
}

const CURSOR = /^\d{1,19}(-\d{1,19})?$/;

/** `notices events`: ends of single notices, oldest first. */
export function eventsCommand(context: CommandContext): Command {
  return new Command('events')
    .option('--from <cursor>', 'only events after this one', cursor, '0')
    .option('--limit <n>', 'maximum number of events', wholeNumber(1, 10_000), 100)
    .option('--follow', 'go on with new events, one per line, until Ctrl-C')
    .action(({ from, limit, follow }: EventsFlags, command: Command) =>
      withLedger(context, async ({ redis, keys, config }) => {
        const { noticeEvents, readNoticeEvents } = await import('../../notices/notice-events.ts');
        if (follow !== true) {
          const { events } = await readNoticeEvents(redis, keys, from, limit);
          print(context, command, events, () => describe(events));
          return;
        }
        const { json } = command.optsWithGlobals<{ json?: boolean }>();
        await untilStopped(context, async (signal) => {
          for await (const event of noticeEvents(config.redis, keys, { from, signal })) {
            if (json === true) writeJsonLine(context.stdout, event);
            else writeLines(context.stdout, [rowOf(event).join('  ')]);
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
    : table([['AT', 'JOB', 'STATE', 'CODE', 'CURSOR'], ...events.map(rowOf)]);

const rowOf = ({ at, job, state, code = '', cursor: position }: NoticeEvent) => [
  new Date(at).toISOString(),
  job,
  state,
  code,
  position,
];

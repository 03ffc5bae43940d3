import { Command } from 'commander';
import type { RestoredReport } from '../../ops/restored.ts';
import type { Suspicion } from '../../fleet/restore/epoch.ts';
import { formatDuration, countOf, table } from '../../format/format.ts';
import { writeTime } from '../../format/time.ts';
import { whyOption } from '../arguments.ts';
import { UsageError } from '../usage-error.ts';
import { STOPPED, type CommandContext, untilStopped, currentUser } from '../command-context.ts';
import { agreed } from '../confirm.ts';
import { withLedger, type OpenLedger } from '../open-queue.ts';
import { print, wantsJson, writeOut, writeText } from '../output.ts';

const NEVER = 'No old copy of the queue has been detected in this Redis.';

/** Why Redis seems to hold an old copy. */
const WHY: Readonly<Record<Suspicion, string>> = {
  'went-back': 'it lacks what a worker has recorded: heartbeats, or where they began',
  gap: 'it restarted long after the last heartbeat, and no worker has a record: it may be up to date',
};

/** `notices restored`: what might be sent again from an old copy; `park` sets notices aside. */
export function restoredCommand(context: CommandContext): Command {
  return new Command('restored')
    .addCommand(showCommand(context), { isDefault: true })
    .addCommand(parkCommand(context));
}

function showCommand(context: CommandContext): Command {
  return new Command('show')
    .description('count what was enqueued before the copy was made and is not settled in it')
    .option('--csv', 'write the contacts as CSV, including phone numbers')
    .addOption(whyOption())
    .action(({ csv, why = '' }: { csv?: boolean; why?: string }, command: Command) => {
      if (csv === true && wantsJson(command)) {
        throw new UsageError('use either --csv (the contacts) or --json (the summary)');
      }
      return withLedger(context, async (open) => {
        if (csv === true) {
          await writeCsv(context, open, why);
          return;
        }
        const { reportRestored } = await import('../../ops/restored.ts');
        const report = await reportRestored(open);
        print(context, command, report ?? { event: null }, () => describe(report, Date.now()));
      });
    });
}

async function writeCsv(
  { stdout, stderr }: CommandContext,
  open: OpenLedger,
  why: string,
): Promise<void> {
  const entry = { what: 'download', target: 'restored notices', as: 'restored' } as const;
  const { appendAudit } = await import('../../ops/audit.ts');
  await appendAudit(open.redis, open.keys, { who: currentUser(), why, ...entry });
  const { exportRestored } = await import('../../ops/restored.ts');
  const contacts = await exportRestored(open, (text) => writeOut(stdout, text));
  writeText(stderr, contacts === undefined ? `${NEVER}\n` : `${countOf(contacts, 'contact')}\n`);
}

function describe(report: RestoredReport | undefined, now: number): string[] {
  if (report === undefined) return [NEVER];
  const { event, held, notices, batches } = report;
  const total = batches.reduce((sum, { contacts }) => sum + contacts, notices.contacts);
  return [
    `An old copy of the queue was detected ${writeTime(event.at, now)}: ${WHY[event.why]}.`,
    ...table([
      ['  copy made', `${new Date(event.copyAt).toISOString()} or shortly after`],
      ['  missing', `at most ${formatDuration(event.missingMs)}`],
      ['  hold', holdOf(event.verdict, held)],
      ['  notices', `${countOf(notices.contacts, 'contact')} in ${countOf(notices.jobs, 'job')}`],
      ...batches.map(({ batch, contacts, phase, importing }) => [
        `  batch ${batch}`,
        `${countOf(contacts, 'contact')}, ${phase}${importing ? ', import not finished' : ''}`,
      ]),
    ]),
    `${countOf(total, 'contact')} might be sent again: the copy does not contain their outcome.`,
    ...(total === 0 ? [] : ['"notices restored --csv" lists their phone numbers.']),
    ...(held ? whatToDo(report) : []),
    'Notices that were enqueued after the copy was made are missing from it, and so are their idempotency keys:',
    'enqueuing them again may send them twice.',
  ];
}

function holdOf(verdict: RestoredReport['event']['verdict'], held: boolean): string {
  if (held) return 'active';
  return verdict === 'held' ? 'lifted manually' : 'none: warning only';
}

function whatToDo({ notices, batches }: RestoredReport): string[] {
  return [
    'What you can do while sending is on hold:',
    ...table([
      ...(notices.jobs > 0
        ? [['  check the notices first', '"notices restored park", and later "notices unknown"']]
        : []),
      ...(batches.length > 0
        ? [['  stop a batch', '"notices pause BATCH", or permanently "notices cancel BATCH"']]
        : []),
      ...(batches.some(({ importing }) => importing)
        ? [['  an unfinished import', 'do not run it again: it would enqueue again what was sent']]
        : []),
      ['  send the rest', '"notices hold lift"'],
    ]),
  ];
}

function parkCommand(context: CommandContext): Command {
  return new Command('park')
    .description('set the single notices aside as unknown, while sending is on hold')
    .addOption(whyOption())
    .option('--yes', 'do not ask for confirmation')
    .action((flags: { yes?: boolean; why?: string }, command: Command) =>
      withLedger(context, async (open) => {
        const { reportRestored } = await import('../../ops/restored.ts');
        const { parkRestored } = await import('../../ops/restored-notices.ts');
        const report = await reportRestored(open);
        const { jobs, contacts } = report?.notices ?? { jobs: 0, contacts: 0 };
        if (report?.held !== true) {
          print(context, command, { jobs: 0, contacts: 0, notHeld: true, stopped: false }, () => [
            'Nothing was done: sending is not on hold for an old copy.',
          ]);
          context.end(1);
          return;
        }
        const question = `Set ${countOf(contacts, 'contact')} in ${countOf(jobs, 'job')} aside? They are not sent until they are decided: "notices unknown" says how.`;
        if (jobs > 0 && !(await agreed(context, question, flags.yes))) return;
        const done = await untilStopped(context, (signal) =>
          parkRestored(open, { who: currentUser(), why: flags.why ?? '' }, signal),
        );
        print(context, command, done, () => [
          `${countOf(done.contacts, 'contact')} in ${countOf(done.jobs, 'job')} set aside. After "notices hold lift", "notices unknown" lists them.`,
          ...(done.notHeld ? ['Stopped: the hold was lifted meanwhile.'] : []),
          ...(done.stopped ? [STOPPED] : []),
        ]);
        if (done.notHeld || done.stopped) context.end(1);
      }),
    );
}

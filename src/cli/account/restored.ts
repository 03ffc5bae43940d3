import { Command } from 'commander';
import { payloadKeys } from '../../batch/payload/payload-key.ts';
import { decodeContacts } from '../../batch/payload/payload.ts';
import { parkRestored } from '../../ops/restored-notices.ts';
import { exportRestored, reportRestored, type RestoredReport } from '../../ops/restored.ts';
import type { Suspicion } from '../../fleet/restore/epoch.ts';
import type { CommandContext } from '../command-context.ts';
import { confirm } from '../confirm.ts';
import { withLedger, type OpenLedger } from '../open-ledger.ts';
import { duration, print, table, wantsJson, writeOut } from '../output.ts';
import { count, countOf } from '../progress.ts';
import { untilStopped } from '../until-stopped.ts';
import { UsageError } from '../usage-error.ts';
import { whoAmI } from '../who.ts';

const NEVER = 'this Redis has never looked like an old copy of the queue';

/** Why it looked like one, in plain words. */
const WHY: Readonly<Record<Suspicion, string>> = {
  'went-back': 'it lacks heartbeats that a worker remembers',
  'another-line': 'it stands in an epoch from before the one that a worker remembers',
  'no-epoch': 'it holds work from before the epoch that a worker remembers, and no epoch',
  gap: 'it was started long after it was last heard of, and nobody remembers: it may be up to date',
};

/** `notices restored`: what might be sent again out of an old copy; `park` sets notices aside. */
export function restoredCommand(context: CommandContext): Command {
  return new Command('restored')
    .description('what might be sent again, since Redis looked like an old copy of the queue')
    .addCommand(showCommand(context), { isDefault: true })
    .addCommand(parkCommand(context));
}

function showCommand(context: CommandContext): Command {
  return new Command('show')
    .description('what was handed over before and is not settled in the copy, counted')
    .option('--csv', 'write the contacts as CSV; it holds phone numbers')
    .action(({ csv }: { csv?: boolean }, command: Command) => {
      if (csv === true && wantsJson(command)) {
        throw new UsageError('give either --csv or --json: a summary is JSON, an export is CSV');
      }
      return withLedger(context, async (open) => {
        if (csv === true) {
          await writeCsv(context, open);
          return;
        }
        const report = await reportRestored(open);
        print(context, command, report ?? { event: null }, () => describe(report, Date.now()));
      });
    });
}

async function writeCsv({ stdout, stderr }: CommandContext, open: OpenLedger): Promise<void> {
  const keys = payloadKeys(open.config.queue);
  const decode = (payload: Buffer) => decodeContacts(payload, keys);
  const contacts = await exportRestored(open, decode, (text) => writeOut(stdout, text));
  stderr.write(contacts === undefined ? `${NEVER}\n` : `${countOf(contacts, 'contact')}\n`);
}

function describe(report: RestoredReport | undefined, now: number): string[] {
  if (report === undefined) return [NEVER];
  const { event, held, notices, batches } = report;
  const ago = (at: number) => `${duration(Math.max(0, now - at))} ago`;
  const total = batches.reduce((sum, { contacts }) => sum + contacts, notices.contacts);
  return [
    `Redis looked like an old copy of the queue ${ago(event.at)}: ${WHY[event.why]}.`,
    ...table([
      ['  copy made', `${new Date(event.copyAt).toISOString()} or soon after`],
      ['  missing', `${duration(event.missingMs)} at most`],
      ['  hold', holdOf(event.verdict, held)],
      ['  notices', `${countOf(notices.contacts, 'contact')} in ${countOf(notices.jobs, 'job')}`],
      ...batches.map(({ batch, contacts, phase, importing }) => [
        `  batch ${batch}`,
        `${countOf(contacts, 'contact')} of it, ${phase}${importing ? ', import not ended' : ''}`,
      ]),
    ]),
    `${countOf(total, 'contact')} might be sent again: the copy does not know what became of them.`,
    ...(total === 0 ? [] : ['Their numbers: "notices restored --csv".']),
    ...(held ? whatToDo(report) : []),
    'What was handed over after the copy was made is not in it, and neither are its idempotency keys:',
    'whoever hands it over again may send it twice.',
  ];
}

function holdOf(verdict: RestoredReport['event']['verdict'], held: boolean): string {
  if (held) return 'in force';
  return verdict === 'held' ? 'lifted by hand' : 'none: only warned';
}

function whatToDo({ notices, batches }: RestoredReport): string[] {
  return [
    'What you can do, while the queue is held:',
    ...table([
      ...(notices.jobs > 0
        ? [['  look the notices up before', '"notices restored park", and "notices resolve" later']]
        : []),
      ...(batches.length > 0
        ? [['  stop a batch', '"notices pause BATCH", or for good "notices cancel BATCH"']]
        : []),
      ...(batches.some(({ importing }) => importing)
        ? [['  an import not ended', 'do not run it again: it would queue again what was sent']]
        : []),
      ['  send what is left', '"notices hold lift"'],
    ]),
  ];
}

function parkCommand(context: CommandContext): Command {
  return new Command('park')
    .description('set the single notices aside as unknown, while the queue is held')
    .option('--yes', 'do not ask')
    .action((flags: { yes?: boolean }, command: Command) =>
      withLedger(context, async (open) => {
        const report = await reportRestored(open);
        const { jobs, contacts } = report?.notices ?? { jobs: 0, contacts: 0 };
        if (report?.held !== true) {
          print(context, command, { jobs: 0, contacts: 0, notHeld: true, stopped: false }, () => [
            'nothing was done: the queue is not held for an old copy',
          ]);
          context.end(1);
          return;
        }
        const question = `Set ${countOf(contacts, 'contact')} in ${countOf(jobs, 'job')} aside? None is sent until "notices resolve".`;
        if (jobs > 0 && !(await confirm(context, question, flags.yes === true))) {
          context.stderr.write('nothing was done\n');
          context.end(1);
          return;
        }
        const done = await untilStopped(context, (signal) => parkRestored(open, whoAmI(), signal));
        print(context, command, done, () => [
          `${countOf(done.contacts, 'contact')} in ${count(done.jobs)} jobs set aside; after "notices hold lift" they are listed by "notices unknown"`,
          ...(done.notHeld ? ['stopped: the hold was lifted meanwhile'] : []),
          ...(done.stopped ? ['stopped; run it again for the rest'] : []),
        ]);
        if (done.notHeld || done.stopped) context.end(1);
      }),
    );
}

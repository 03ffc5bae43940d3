import { Command, Option } from 'commander';
import type { Batch } from '../../batch/ledger/batch-record.ts';
import { groupFailures, type FailureGroup } from '../../batch/failures/failure-groups.ts';
import {
  whyNotRedrive,
  type RedriveReport,
  type RedriveSelection,
} from '../../batch/failures/redrive-batch.ts';
import { redriveAudited } from '../../ops/batch-actions.ts';
import { wholeNumber } from '../arguments.ts';
import { describeGroups } from './batch-view.ts';
import type { CommandContext } from '../command-context.ts';
import { confirm } from '../confirm.ts';
import { batchId, readBatch, withLedger, type OpenLedger } from '../open-ledger.ts';
import { print, wantsJson } from '../output.ts';
import { count, countOf, ProgressBar } from '../progress.ts';
import { untilStopped } from '../until-stopped.ts';
import { whoAmI } from '../who.ts';

interface RedriveFlags extends RedriveSelection {
  yes?: boolean;
}

/** `notices redrive ID`: exits with 1 where the phase does not allow it, or the person said no. */
export function redriveCommand(context: CommandContext): Command {
  return new Command('redrive')
    .description('send again what was not accepted, after a preview')
    .argument('<id>', 'id of the batch', batchId)
    .addOption(
      new Option('--state <state>', 'those in this state; unknown ones may arrive twice')
        .choices(['rejected', 'expired', 'unknown'])
        .default('rejected'),
    )
    .option('--code <code>', 'only those with this code')
    .option('--limit <n>', 'contacts at most', wholeNumber(1, 1_000_000_000))
    .option('--rate <n>', 'contacts a second at most', wholeNumber(1, 1_000_000))
    .option('--yes', 'do not ask')
    .action((id: string, flags: RedriveFlags, command: Command) =>
      withLedger(context, async (open) => {
        const batch = await readBatch(open.ledger, id);
        const reason = whyNotRedrive(batch, Date.now());
        if (reason !== undefined) {
          print(context, command, { batch: id, done: false, reason }, () => [
            `${id} cannot be redriven: ${reason}`,
          ]);
          context.end(1);
          return;
        }
        const { yes, ...selection } = flags;
        const groups = await groupFailures(open.ledger, batch, selection);
        if (groups.length === 0) {
          print(context, command, { batch: id, redriven: 0, chunks: 0, left: 0, gone: 0 }, () => [
            'nothing matches; nothing was done',
          ]);
          return;
        }
        if (!(await agreed(context, batch, selection, groups, yes === true, wantsJson(command)))) {
          context.end(1);
          return;
        }
        await redrive(context, open, batch, selection, command);
      }),
    );
}

/** Shows what would be sent again, and asks. */
async function agreed(
  context: CommandContext,
  { id }: Batch,
  { state, limit }: RedriveSelection,
  groups: readonly FailureGroup[],
  yes: boolean,
  json: boolean,
): Promise<boolean> {
  const contacts = groups.reduce((sum, group) => sum + group.contacts, 0);
  const most = limit === undefined ? contacts : Math.min(limit, contacts);
  if (!json) context.stderr.write(`${describeGroups(groups).join('\n')}\n`);
  const twice = state === 'unknown' ? ' They may have been taken: some may get it twice.' : '';
  const upTo = most < contacts ? `${count(most)} at most of ${count(contacts)}` : count(contacts);
  if (await confirm(context, `Send ${upTo} contacts of ${id} again?${twice}`, yes)) return true;
  context.stderr.write('nothing was done\n');
  return false;
}

async function redrive(
  context: CommandContext,
  open: OpenLedger,
  batch: Batch,
  selection: RedriveSelection,
  command: Command,
): Promise<void> {
  const bar = new ProgressBar('redriving', context.stderr);
  let given = 0;
  const show = (redriven: number) => {
    given = redriven;
    if (!wantsJson(command)) bar.show(undefined, countOf(redriven, 'contact'));
  };
  const actor = { who: whoAmI(), why: '' };
  let report: RedriveReport;
  try {
    report = await untilStopped(context, (signal) =>
      redriveAudited(open, batch, selection, actor, show, signal),
    );
  } catch (error) {
    bar.end();
    const text = `${count(given)} contacts were given back before it failed; run it again for the rest`;
    if (!wantsJson(command)) context.stderr.write(`${text}\n`);
    throw error;
  }
  bar.end();
  print(context, command, report, () => [
    `${countOf(report.redriven, 'contact')} to be sent again, in ${countOf(report.chunks, 'chunk')}`,
    ...(report.left > 0 ? [`${count(report.left)} that match were left as they are`] : []),
    ...(report.gone > 0 ? [`${count(report.gone)} were gone already`] : []),
    ...(report.redriven === 0 && report.left > 0
      ? ['A chunk that failed as a whole is sent again as a whole: raise --limit.']
      : [`"notices batch ${batch.id} --watch" follows them`]),
  ]);
}

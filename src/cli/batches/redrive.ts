import { Command, Option } from 'commander';
import type { Batch } from '../../batch/ledger/batch-record.ts';
import type { FailureGroup } from '../../batch/failures/failure-groups.ts';
import type { RedriveReport, RedriveSelection } from '../../batch/failures/redrive-batch.ts';
import { formatCount, countOf } from '../../format/format.ts';
import { BATCH_ID } from '../../contracts/chunk-job.ts';
import { wholeNumber } from '../arguments.ts';
import { STOPPED, type CommandContext, untilStopped, currentUser } from '../command-context.ts';
import { agreed } from '../confirm.ts';
import { readBatch, withLedger, type OpenLedger } from '../open-queue.ts';
import { redisTime } from '../../redis/server-clock.ts';
import { print, wantsJson, writeLines, writeText } from '../output.ts';
import {
  changeFailed,
  failedFlags,
  namedOrAll,
  refuseNoticeFlags,
  type FailedFlags,
} from '../notices/failed-notices.ts';
import { UsageError } from '../usage-error.ts';

type AllFlags = RedriveFlags & Omit<FailedFlags, 'state'>;

interface RedriveFlags extends RedriveSelection {
  yes?: boolean;
  notices?: boolean;
}

/**
 * `notices redrive ID`: contacts of a batch, or single notices. Exits with 1 where the phase or the deadline of the
 * batch does not allow it, also while it runs, or the user declined.
 */
export function redriveCommand(context: CommandContext): Command {
  const command = new Command('redrive')
    .argument('[ids...]', 'id of the batch, or ids of single notices')
    .option('--notices', 'all failed single notices that match the flags')
    .addOption(
      new Option(
        '--state <state>',
        'contacts of a batch, or single notices, in this state; unknown ones may arrive twice',
      )
        .choices(['rejected', 'expired', 'unknown'])
        .default('rejected'),
    )
    .option('--code <code>', 'only those with this code')
    .option(
      '--limit <n>',
      'at most so many contacts of a batch, or single notices',
      wholeNumber(1, 1_000_000_000),
    )
    .option('--rate <n>', 'at most so many of them per second', wholeNumber(1, 1_000_000))
    .option('--yes', 'do not ask for confirmation');
  return failedFlags(command).action((ids: string[], flags: AllFlags, self: Command) => {
    const named = namedOrAll(ids, flags.notices);
    return withLedger(context, async (open) => {
      const [id = ''] = ids;
      const isBatch = ids.length === 1 && BATCH_ID.test(id) && (await open.ledger.read(id));
      if (!isBatch && (named === undefined || id.startsWith('n-') || ids.length > 1)) {
        const { state } = flags;
        if (state === 'expired')
          throw new UsageError('--state: single notices are rejected or unknown');
        await changeFailed(context, open, 'redrive', named, { ...flags, state }, self);
        return;
      }
      refuseNoticeFlags(flags);
      await redriveBatchOf(context, open, id, flags, self);
    });
  });
}

async function redriveBatchOf(
  context: CommandContext,
  open: OpenLedger,
  id: string,
  flags: AllFlags,
  command: Command,
): Promise<void> {
  const batch = await readBatch(open.ledger, id);
  const { whyNotRedrive } = await import('../../batch/failures/redrive-batch.ts');
  const reason = whyNotRedrive(batch, Date.now());
  if (reason !== undefined) {
    print(context, command, { batch: id, done: false, reason }, () => [cannotText(id, reason)]);
    context.end(1);
    return;
  }
  const { yes, why = '', state, code, limit, rate } = flags;
  // What fails while it asks was not shown.
  const before = yes === true ? undefined : Math.ceil(await redisTime(open.redis));
  const selection = { state, code, before, limit, rate };
  const { groupFailures } = await import('../../batch/failures/failure-groups.ts');
  const groups = await groupFailures(open.ledger, batch, selection);
  if (groups.length === 0) {
    print(context, command, { batch: id, redriven: 0, chunks: 0, left: 0, gone: 0 }, () => [
      'No contact matches; nothing was done.',
    ]);
    return;
  }
  if (!(await agreedOn(context, batch, selection, groups, yes, wantsJson(command)))) return;
  await redrive(context, open, batch, selection, why, command);
}

const cannotText = (id: string, reason: string) => `Batch ${id} cannot be sent again: ${reason}.`;

/** Shows what would be sent again, and asks for confirmation. */
async function agreedOn(
  context: CommandContext,
  { id }: Batch,
  { state, limit }: RedriveSelection,
  groups: readonly FailureGroup[],
  yes: boolean | undefined,
  json: boolean,
): Promise<boolean> {
  const contacts = groups.reduce((sum, group) => sum + group.contacts, 0);
  const most = limit === undefined ? contacts : Math.min(limit, contacts);
  if (!json) {
    const { describeGroups } = await import('./batch-view.ts');
    writeLines(context.stderr, describeGroups(groups));
  }
  const twice =
    state === 'unknown' ? ' The service may have accepted them: some may arrive twice.' : '';
  const upTo =
    most < contacts
      ? `at most ${formatCount(most)} of ${countOf(contacts, 'contact')}`
      : countOf(contacts, 'contact');
  return agreed(context, `Send ${upTo} of batch ${id} again?${twice}`, yes);
}

async function redrive(
  context: CommandContext,
  open: OpenLedger,
  batch: Batch,
  selection: RedriveSelection,
  why: string,
  command: Command,
): Promise<void> {
  const { redriveAudited } = await import('../../ops/batch-actions.ts');
  const { ProgressLines } = await import('../progress.ts');
  const lines = new ProgressLines('redriving', context.stderr);
  let requeued = 0;
  const show = (redriven: number) => {
    requeued = redriven;
    if (!wantsJson(command)) lines.show(undefined, countOf(redriven, 'contact'));
  };
  const actor = { who: currentUser(), why };
  let report: RedriveReport;
  let isStopped = false;
  try {
    report = await untilStopped(context, async (signal) => {
      const done = await redriveAudited(open, batch, selection, actor, show, signal);
      isStopped = signal.aborted && done.left > 0;
      return done;
    });
  } catch (error) {
    lines.end();
    const text = `${countOf(requeued, 'contact')} requeued before the failure. Run the command again for the rest.`;
    if (!wantsJson(command)) writeText(context.stderr, `${text}\n`);
    throw error;
  }
  lines.end();
  print(context, command, report, () => [
    `${countOf(report.redriven, 'contact')} in ${countOf(report.chunks, 'chunk')} will be sent again.`,
    ...(report.left > 0 ? [`${countOf(report.left, 'matching contact')} left unchanged.`] : []),
    ...(report.gone > 0 ? [`${countOf(report.gone, 'contact')} no longer available.`] : []),
    ...(report.reason === undefined ? [] : [cannotText(batch.id, report.reason)]),
    ...(isStopped ? [STOPPED] : []),
    ...(report.redriven === 0 && report.left > 0 && report.reason === undefined && !isStopped
      ? ['A chunk that failed as a whole is sent again as a whole: increase --limit.']
      : [`"notices batch ${batch.id} --watch" shows their progress.`]),
  ]);
  if (report.reason !== undefined || isStopped) context.end(1);
}

import { setTimeout } from 'node:timers/promises';
import { retryWhileAway } from '../../batch/import/retry-while-away.ts';
import { CONTACT_STATES } from '../../batch/ledger/batch-record.ts';
import { formatCount, formatDuration, formatRate } from '../../format/format.ts';
import { readBatch, type BatchAnswer, type BatchReport } from '../../ops/answers/batch.ts';
import { describeBatch } from '../../ops/batch-words.ts';
import type { OperationContext } from '../../ops/operations/operation.ts';
import type { CommandContext } from '../command-context.ts';
import { writeJsonLine, writeLines, writeText } from '../output.ts';
import { ProgressLines, ProgressRate } from '../progress.ts';

const EVERY_MS = 1_000;

export interface FollowOptions {
  /** One event per line on standard output, instead of lines on standard error. */
  readonly json: boolean;
  /** Ends it. */
  readonly signal: AbortSignal;
  /**
   * For the exit code of an import: goes on when the reader has closed the stream of the progress, and ends where the
   * import stopped and nothing is left to send.
   */
  readonly ofImport: boolean;
}

/**
 * Shows the progress of a batch until it ends or `signal` is aborted, and then the batch. The reason why a batch is not
 * sending is written once, when it changes.
 *
 * @returns the last state of the batch
 * @throws UsageError when the batch was deleted, NoticeQueueError when Redis stays unavailable
 */
export async function followBatch(
  { stdout, stderr }: Pick<CommandContext, 'stdout' | 'stderr'>,
  open: OperationContext,
  id: string,
  { json, signal, ofImport }: FollowOptions,
): Promise<BatchReport> {
  const lines = new ProgressLines('sending', stderr);
  const progress = new ProgressRate();
  let shownReason: string | null = null;
  for (;;) {
    const view = await retryWhileAway(() => readBatch(open, id), signal, false);
    const { batch, standstill, continueImport } = view;
    const { phase, counts } = batch;
    const isStopped = ofImport && continueImport !== null && counts.pending === 0;
    const settled = counts.total - counts.pending;
    progress.read(performance.now(), settled);
    if (json) {
      const perSecond = Math.round(progress.rate);
      const event = { batch: id, phase, counts, perSecond, standstill, continueImport };
      lines.isRead = await writeJsonLine(stdout, { event: 'sending', ...event });
    } else {
      if (standstill !== shownReason && standstill !== null) {
        lines.end();
        writeText(stderr, `Not sending: ${standstill}.\n`);
      }
      shownReason = standstill;
      const share = counts.total === 0 ? undefined : settled / counts.total;
      lines.show(share, progressText(batch, progress));
    }
    if (isOver(batch) || isStopped || signal.aborted || !(lines.isRead || ofImport)) {
      lines.end();
      if (json) await writeJsonLine(stdout, { event: 'batch', ...view });
      else writeLines(stdout, describeBatch(view, Date.now()));
      return view;
    }
    await setTimeout(EVERY_MS, undefined, { signal }).catch(() => {});
  }
}

/** Whether every contact is settled and no more will be imported. */
export function isOver({
  phase,
  counts,
  finishedAt,
}: Pick<BatchAnswer, 'phase' | 'counts' | 'finishedAt'>): boolean {
  const hasEnded = phase === 'finished' || phase === 'cancelled';
  return hasEnded && (finishedAt ?? 0) > 0 && counts.pending === 0;
}

function progressText({ counts, phase }: BatchAnswer, progress: ProgressRate): string {
  const restMs = progress.timeFor(counts.pending);
  const others = CONTACT_STATES.filter(
    (state) => state !== 'pending' && state !== 'accepted' && counts[state] > 0,
  ).map((state) => `${formatCount(counts[state])} ${state}`);
  return [
    `${formatCount(counts.total - counts.pending)} of ${formatCount(counts.total)}`,
    ...others,
    ...(progress.rate > 0 || counts.pending > 0 ? [`${formatRate(progress.rate)}/s`] : []),
    ...(phase === 'sending' && restMs !== undefined ? [`${formatDuration(restMs)} left`] : []),
  ].join(', ');
}

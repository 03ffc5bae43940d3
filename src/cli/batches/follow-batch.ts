import { setTimeout } from 'node:timers/promises';
import { retryWhileAway } from '../../batch/import/retry-while-away.ts';
import type { BatchSnapshot } from '../../ops/batch-snapshot.ts';
import { readBatchSnapshot } from '../../ops/batch-snapshot.ts';
import { isOver, progressText, settledOf } from './batch-view.ts';
import type { CommandContext } from '../command-context.ts';
import type { OpenLedger } from '../open-queue.ts';
import { writeJsonLine, writeText } from '../output.ts';
import { ProgressLines, ProgressRate } from '../progress.ts';

/** Refresh interval, in milliseconds. */
const EVERY_MS = 1_000;

/** How a batch is followed. */
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
 * Shows the progress of a batch until it ends or `signal` is aborted. The reason why a batch is not sending is written
 * once, when it changes.
 *
 * @returns the last state of the batch
 * @throws UsageError when the batch was deleted, NoticeQueueError when Redis stays unavailable
 */
export async function followBatch(
  { stdout, stderr }: Pick<CommandContext, 'stdout' | 'stderr'>,
  open: OpenLedger,
  id: string,
  { json, signal, ofImport }: FollowOptions,
): Promise<BatchSnapshot> {
  const lines = new ProgressLines('sending', stderr);
  const progress = new ProgressRate();
  let shownReason: string | undefined;
  for (;;) {
    const view = await retryWhileAway(() => readBatchSnapshot(open, id), signal, false);
    const { batch, standstill, importStopped } = view;
    const isStopped = ofImport && importStopped && batch.counts.pending === 0;
    progress.read(performance.now(), settledOf(batch));
    if (json) {
      const event = { event: 'sending', ...progressOf(view, progress.rate) };
      lines.isRead = await writeJsonLine(stdout, event);
    } else {
      if (standstill !== shownReason && standstill !== undefined) {
        lines.end();
        writeText(stderr, `Not sending: ${standstill}.\n`);
      }
      shownReason = standstill;
      const { total, pending } = batch.counts;
      const share = total === 0 ? undefined : settledOf(batch) / total;
      lines.show(share, progressText(batch, progress.rate, progress.timeFor(pending)));
    }
    if (isOver(batch) || isStopped || signal.aborted || !(lines.isRead || ofImport)) {
      lines.end();
      return view;
    }
    await setTimeout(EVERY_MS, undefined, { signal }).catch(() => {});
  }
}

function progressOf({ batch, standstill, importStopped }: BatchSnapshot, rate: number): object {
  const { id, phase, counts } = batch;
  return {
    batch: id,
    phase,
    counts,
    perSecond: Math.round(rate),
    ...(standstill === undefined ? {} : { standstill }),
    ...(importStopped ? { importStopped } : {}),
  };
}

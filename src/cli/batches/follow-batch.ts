import { setTimeout } from 'node:timers/promises';
import { mayPass } from '../../batch/import/retry-while-away.ts';
import type { Batch } from '../../batch/ledger/batch-record.ts';
import type { BatchSnapshot } from '../../ops/batch-snapshot.ts';
import { isOver, progressText, settledOf, viewBatch } from './batch-view.ts';
import type { CommandContext } from '../command-context.ts';
import type { OpenLedger } from '../open-queue.ts';
import { writeAll, writeJsonLine, writeText } from '../output.ts';
import { ProgressRate, ProgressBar } from '../progress.ts';

/** Refresh intervals, in milliseconds. */
const TERMINAL_MS = 250;
const ELSEWHERE_MS = 1_000;

/** Only a write shows that the reader is gone: a line that stays the same is written again after so many milliseconds. */
const REPEAT_MS = 5_000;

/** How long Redis may be unavailable, or refuse commands, before the command fails, in milliseconds. */
const REDIS_OUTAGE_MS = 60_000;

/** How a batch is followed. */
export interface FollowOptions {
  /** One event per line on standard output, instead of a bar. */
  readonly json: boolean;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Whether nothing is left to wait for. Default: all of it is settled. */
  readonly ends?: (batch: Batch) => boolean;
  /** Go on when the reader has closed the stream of the progress. */
  readonly unread: boolean;
}

/**
 * Shows the progress of a batch until it ends or `signal` is aborted: a bar on a terminal,
 * lines elsewhere, and with `json` one event per line on standard output. The reason why a batch is not
 * sending is written once, when it changes.
 *
 * @returns the last state of the batch
 * @throws UsageError when the batch was deleted, NoticeQueueError when Redis stays unavailable
 */
export async function followBatch(
  { stdout, stderr }: Pick<CommandContext, 'stdout' | 'stderr'>,
  open: OpenLedger,
  id: string,
  { json, signal, ends = isOver, unread }: FollowOptions,
): Promise<BatchSnapshot> {
  const everyMs = stderr.isTTY === true ? TERMINAL_MS : ELSEWHERE_MS;
  let isRead = true;
  const shown = {
    isTTY: stderr.isTTY === true,
    get columns() {
      return stderr.columns;
    },
    // Safe already: of the bar and of writeText().
    write: (text: string) => {
      void writeAll(stderr, text).then((isTaken) => {
        if (!isTaken) isRead = false;
      });
      return true;
    },
  };
  const bar = new ProgressBar('sending', shown, ELSEWHERE_MS, unread ? Infinity : REPEAT_MS);
  const progress = new ProgressRate();
  let shownReason: string | undefined;
  for (;;) {
    const view = await retryWhileUnavailable(() => viewBatch(open, id), signal);
    const { batch, standstill } = view;
    progress.read(performance.now(), settledOf(batch));
    if (json) {
      const event = { event: 'sending', ...progressOf(view, progress.rate) };
      isRead = await writeJsonLine(stdout, event);
    } else {
      if (standstill !== shownReason && standstill !== undefined) {
        bar.end();
        writeText(shown, `Not sending: ${standstill}.\n`);
      }
      shownReason = standstill;
      const { total, pending } = batch.counts;
      const share = total === 0 ? undefined : settledOf(batch) / total;
      bar.show(share, progressText(batch, progress.rate, progress.timeFor(pending)));
    }
    if (ends(batch) || signal.aborted || !(isRead || unread)) {
      bar.end();
      return view;
    }
    await setTimeout(everyMs, undefined, { signal }).catch(() => {});
  }
}

/**
 * Tolerates a minute in which Redis does not answer or refuses commands: the batch does not depend on this command.
 *
 * @throws NoticeQueueError as the read does: after a minute, or at once when `signal` is aborted
 */
export async function retryWhileUnavailable<Result>(
  read: () => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  const deadline = performance.now() + REDIS_OUTAGE_MS;
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (!mayPass(error) || signal.aborted || performance.now() > deadline) throw error;
      await setTimeout(ELSEWHERE_MS, undefined, { signal }).catch(() => {});
    }
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

import { setTimeout } from 'node:timers/promises';
import { NoticeQueueError } from '../../contracts/errors.ts';
import type { BatchSnapshot } from '../../ops/batch-snapshot.ts';
import { isOver, progressText, settledOf, viewBatch } from './batch-view.ts';
import type { CommandContext, Output } from '../command-context.ts';
import type { OpenLedger } from '../open-ledger.ts';
import { ProgressRate } from './progress-rate.ts';
import { ProgressBar } from '../progress.ts';

/** Milliseconds between two looks: often enough for a person, seldom enough for Redis. */
const TERMINAL_MS = 250;
const ELSEWHERE_MS = 1_000;

/** Redis may be away for so long before the command gives up. */
const PATIENCE_MS = 60_000;

/**
 * Shows how a batch is sent, until all of it is settled or `signal` is aborted: a bar on a terminal,
 * lines elsewhere, and with `json` one event a line on standard output. A standstill is told once,
 * when it begins.
 *
 * @returns the batch as it was seen last
 * @throws UsageError when the batch is no more, NoticeQueueError when Redis stays away
 */
export async function followBatch(
  { stdout, stderr }: Pick<CommandContext, 'stdout' | 'stderr'>,
  open: OpenLedger,
  id: string,
  json: boolean,
  signal: AbortSignal,
): Promise<BatchSnapshot> {
  const everyMs = stderr.isTTY === true ? TERMINAL_MS : ELSEWHERE_MS;
  const bar = new ProgressBar('sending', stderr);
  const pace = new ProgressRate();
  let told: string | undefined;
  for (;;) {
    const view = await patiently(() => viewBatch(open, id), signal);
    const { batch, standstill } = view;
    pace.read(performance.now(), settledOf(batch));
    if (json) writeJsonLine(stdout, { event: 'sending', ...progressOf(view, pace.rate) });
    else {
      if (standstill !== told && standstill !== undefined) {
        bar.end();
        stderr.write(`It stands still: ${standstill}.\n`);
      }
      told = standstill;
      const { total, pending } = batch.counts;
      const share = total === 0 ? undefined : settledOf(batch) / total;
      bar.show(share, progressText(batch, pace.rate, pace.timeFor(pending)));
    }
    if (isOver(batch) || signal.aborted) {
      bar.end();
      return view;
    }
    await setTimeout(everyMs, undefined, { signal }).catch(() => {});
  }
}

/** Waits out a restart of Redis: what is followed goes on without this command. */
async function patiently<Result>(
  read: () => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await read();
    } catch (error) {
      const away = error instanceof NoticeQueueError && error.code === 'QUEUE_UNAVAILABLE';
      if (!away || signal.aborted || performance.now() > deadline) throw error;
      await setTimeout(ELSEWHERE_MS, undefined, { signal }).catch(() => {});
    }
  }
}

function progressOf({ batch, standstill }: BatchSnapshot, rate: number): object {
  const { id, phase, counts } = batch;
  return {
    batch: id,
    phase,
    counts,
    perSecond: Math.round(rate),
    ...(standstill === undefined ? {} : { standstill }),
  };
}

/** One JSON value on a line of its own. */
export function writeJsonLine(stdout: Output, value: object): void {
  stdout.write(`${JSON.stringify(value)}\n`);
}

import { setTimeout } from 'node:timers/promises';
import type { Batch } from '../ledger/batch-record.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { FailureRecord } from '../ledger/ledger-reader.ts';
import { msAhead } from './redrive-rate.ts';
import { selectFailures } from './select-failures.ts';

/** Selects the failures to send again. */
export interface RedriveSelection {
  /** Required, so that unknown ones, which may have arrived, are not resent by mistake. */
  readonly state: FailureRecord['state'];
  /** The service's code, or one of ours. Default: any. */
  readonly code?: string | undefined;
  /** Contacts at most. A failure is resent as a whole, so it may be fewer. Default: no limit. */
  readonly limit?: number | undefined;
  /** Contacts per second at most, on average. Default: no limit. */
  readonly rate?: number | undefined;
}

/** Result of a redrive, in contacts. */
export interface RedriveReport {
  readonly batch: string;
  readonly redriven: number;
  /** New chunks that contain them. */
  readonly chunks: number;
  /** Matched, but not resent because of the limit or because the signal aborted. */
  readonly left: number;
  /** Matched, but were redriven elsewhere meanwhile, or their contacts are deleted. */
  readonly gone: number;
}

/** Failures that are redriven at the same time. */
const WINDOW = 64;

/**
 * Why a batch cannot be redriven now, as text; undefined if it can.
 *
 * | phase | deadline | result |
 * |---|---|---|
 * | finished, sending | none, or in the future | undefined |
 * | finished, sending | in the past | its deadline has passed |
 * | importing, paused, cancelled | | what to do first |
 */
export function whyNotRedrive(
  { id, phase, expiresAt }: Pick<Batch, 'id' | 'phase' | 'expiresAt'>,
  now: number,
): string | undefined {
  switch (phase) {
    case 'importing':
      return 'its import has not finished';
    case 'paused':
      return `it is paused; run "notices resume ${id}" first`;
    case 'cancelled':
      return `it was cancelled; "notices failures ${id} --csv" writes a file that can be imported as another batch`;
    case 'sending':
    case 'finished':
      return expiresAt > 0 && expiresAt <= now
        ? `its deadline has passed; "notices failures ${id} --csv" writes a file that can be imported as another batch`
        : undefined;
  }
}

/**
 * Sends failures of a batch again, each as a new chunk. Chunks that are added meanwhile are not
 * included, so a contact that fails again is not resent again.
 *
 * @param onProgress called with the number of contacts redriven so far
 * @param signal stops the redrive; contacts redriven before it stay redriven
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED; likewise
 */
export async function redriveBatch(
  ledger: Pick<Ledger, 'failures' | 'redrive'>,
  batch: Pick<Batch, 'id' | 'chunks'>,
  { state, code, limit = Infinity, rate = Infinity }: RedriveSelection,
  onProgress: (redriven: number) => void = () => {},
  signal?: AbortSignal,
): Promise<RedriveReport> {
  const startedAt = performance.now();
  const sum = { redriven: 0, chunks: 0, left: 0, gone: 0 };
  let window: FailureRecord[] = [];
  let asked = 0;

  const flush = async () => {
    const done = await Promise.allSettled(
      window.map(({ name }) => ledger.redrive(batch.id, name, state, code)),
    );
    let failure: PromiseRejectedResult | undefined;
    for (const [index, { size }] of window.entries()) {
      const one = done[index];
      if (one?.status === 'rejected') failure ??= one;
      else if (one?.value === true) {
        sum.redriven += size;
        sum.chunks += 1;
      } else sum.gone += size;
    }
    window = [];
    onProgress(sum.redriven);
    // Only now: what was redriven beside it is counted.
    if (failure !== undefined) throw failure.reason;
    const aheadMs = msAhead(sum.redriven, rate, startedAt);
    if (aheadMs > 0) await setTimeout(aheadMs, undefined, { signal }).catch(() => {});
  };

  for await (const failure of selectFailures(ledger, batch.id, { state, code })) {
    if (chunkOf(failure) >= batch.chunks) continue;
    if (signal?.aborted === true || asked + failure.size > limit) {
      sum.left += failure.size;
      continue;
    }
    asked += failure.size;
    window.push(failure);
    // With a rate, failures are redriven one by one, so that it is even.
    if (window.length >= (rate === Infinity ? WINDOW : 1)) await flush();
  }
  if (window.length > 0) await flush();
  return { batch: batch.id, ...sum };
}

/** The name of a failure is `<chunk>` or `<chunk>.<part>`. */
function chunkOf({ name }: FailureRecord): number {
  return Number.parseInt(name, 10);
}

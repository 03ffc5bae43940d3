import { setTimeout } from 'node:timers/promises';
import type { Batch } from '../ledger/batch-record.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { FailureRecord } from '../ledger/ledger-reader.ts';
import { selectFailures } from './select-failures.ts';

/** What is to be sent again. */
export interface RedriveSelection {
  /** Unknown ones may have arrived: whoever means them must say so. */
  readonly state: FailureRecord['state'];
  /** Any when left out. */
  readonly code?: string | undefined;
  /**
   * Contacts at most; no limit when left out. A failure is redriven as a whole or not at all, so it
   * may be fewer.
   */
  readonly limit?: number | undefined;
  /** Contacts a second at most, on average; as fast as Redis takes them when left out. */
  readonly rate?: number | undefined;
}

/** What a redrive did, in contacts. */
export interface RedriveReport {
  readonly batch: string;
  readonly redriven: number;
  /** Chunks they stand in now. */
  readonly chunks: number;
  /** Matched, but left alone: they did not fit under the limit, or it was stopped. */
  readonly left: number;
  /** Matched, but were redriven by somebody else meanwhile, or their contacts are gone. */
  readonly gone: number;
}

/** So many are asked for at a time. */
const WINDOW = 64;

/**
 * Why a batch cannot be redriven now, in words; undefined where it can.
 *
 * | phase | deadline | answer |
 * |---|---|---|
 * | finished, sending | none, or to come | it can |
 * | finished, sending | has passed | all would expire at once |
 * | importing, paused, cancelled | | what to do first |
 */
export function whyNotRedrive(
  { id, phase, expiresAt }: Pick<Batch, 'id' | 'phase' | 'expiresAt'>,
  now: number,
): string | undefined {
  switch (phase) {
    case 'importing':
      return 'its import has not ended';
    case 'paused':
      return `it is paused; "notices resume ${id}" first`;
    case 'cancelled':
      return `it was cancelled; "notices failures ${id} --csv" writes a file that can be imported as another batch`;
    case 'sending':
    case 'finished':
      return expiresAt > 0 && expiresAt <= now
        ? `its deadline has passed, so all would expire at once; "notices failures ${id} --csv" writes a file that can be imported as another batch`
        : undefined;
  }
}

/**
 * Gives failures of a batch back to the queue, each as a new chunk. What is redriven and fails again
 * meanwhile is left alone: it stands in a chunk that was not there when this began.
 *
 * @param onProgress told of the contacts redriven so far
 * @param signal stops it between two windows; what was redriven stays so
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED; what was redriven before stays so
 */
export async function redriveBatch(
  ledger: Pick<Ledger, 'failures' | 'redrive'>,
  batch: Pick<Batch, 'id' | 'chunks'>,
  { state, code, limit = Infinity, rate = Infinity }: RedriveSelection,
  onProgress: (redriven: number) => void = () => {},
  signal?: AbortSignal,
): Promise<RedriveReport> {
  const begun = performance.now();
  const sum = { redriven: 0, chunks: 0, left: 0, gone: 0 };
  let window: FailureRecord[] = [];
  let asked = 0;

  const flush = async () => {
    const done = await Promise.all(
      window.map(({ name }) => ledger.redrive(batch.id, name, state, code)),
    );
    for (const [index, { size }] of window.entries()) {
      if (done[index] === true) {
        sum.redriven += size;
        sum.chunks += 1;
      } else sum.gone += size;
    }
    window = [];
    onProgress(sum.redriven);
    const aheadMs = (sum.redriven / rate) * 1_000 - (performance.now() - begun);
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
    // With a rate each failure goes by itself, so that the pace is even.
    if (window.length >= (rate === Infinity ? WINDOW : 1)) await flush();
  }
  if (window.length > 0) await flush();
  return { batch: batch.id, ...sum };
}

/** A failure's name is `chunk` or `chunk.part`. */
function chunkOf({ name }: FailureRecord): number {
  return Number.parseInt(name, 10);
}

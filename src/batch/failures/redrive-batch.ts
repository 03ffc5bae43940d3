import { setTimeout } from 'node:timers/promises';
import type { Batch } from '../ledger/batch-record.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { RedriveRefusal } from '../ledger/ledger-actions.ts';
import type { FailureRecord } from '../ledger/ledger-reader.ts';
import { msAhead } from './redrive-rate.ts';
import { selectFailures } from './select-failures.ts';

/** Selects the failures to send again. */
export interface RedriveSelection {
  /** Required, so that unknown ones, which may have arrived, are not resent by mistake. */
  readonly state: FailureRecord['state'];
  readonly code?: string | undefined;
  /** Only what failed before: Redis time, milliseconds since the epoch. Default: any time. */
  readonly before?: number | undefined;
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
  /** Matched, but not resent: because of the limit or the reason, or because the signal aborted. */
  readonly left: number;
  /** Matched, but were redriven elsewhere meanwhile, or their contacts are deleted. */
  readonly gone: number;
  /** Why the batch cannot be redriven any more, where that came while it was redriven. */
  readonly reason?: string;
}

/** Failures that are redriven at the same time. */
const WINDOW = 64;

/** Why a batch cannot be redriven now, as text; undefined if it can. */
export function whyNotRedrive(
  { id, phase, expiresAt }: Pick<Batch, 'id' | 'phase' | 'expiresAt'>,
  now: number,
): string | undefined {
  if (phase !== 'sending' && phase !== 'finished') return refusalText(id, phase);
  return expiresAt > 0 && expiresAt <= now ? refusalText(id, 'late') : undefined;
}

export function refusalText(id: string, refusal: RedriveRefusal): string {
  switch (refusal) {
    case 'importing':
      return 'its import has not finished';
    case 'paused':
      return `it is paused; run "notices resume ${id}" first`;
    case 'cancelled':
      return `it was cancelled; "notices failures ${id} --state cancelled --csv" writes a file that can be imported as another batch`;
    case 'late':
      return `its deadline has passed; "notices failures ${id} --state expired --csv", or with "--state rejected", writes a file that can be imported as another batch`;
  }
}

/**
 * Sends failures of a batch again, each as a new chunk. Chunks that are added meanwhile are not included, so a contact
 * that fails again is not resent again. Stops where the batch is paused or cancelled, or its deadline passes.
 *
 * @param signal stops the redrive; contacts redriven before it stay redriven
 */
export async function redriveBatch(
  ledger: Pick<Ledger, 'failures' | 'redrive'>,
  batch: Pick<Batch, 'id' | 'chunks'>,
  { state, code, before = Infinity, limit = Infinity, rate = Infinity }: RedriveSelection,
  onProgress: (redriven: number) => void = () => {},
  signal?: AbortSignal,
): Promise<RedriveReport> {
  const startedAt = performance.now();
  const sum = { redriven: 0, chunks: 0, left: 0, gone: 0 };
  const window: FailureRecord[] = [];
  let asked = 0;
  let refusal: RedriveRefusal | undefined;

  const flush = async () => {
    const done = await Promise.allSettled(
      window.splice(0).map(async ({ name, size }) => {
        const result = await ledger.redrive(batch.id, name, state, code);
        if (result === 'redriven') {
          sum.redriven += size;
          sum.chunks += 1;
        } else if (result === 'known' || result === 'gone') sum.gone += size;
        else {
          refusal = result;
          sum.left += size;
        }
      }),
    );
    onProgress(sum.redriven);
    // Only now: what was redriven beside it is counted.
    for (const one of done) if (one.status === 'rejected') throw one.reason;
    if (refusal !== undefined) return;
    const aheadMs = msAhead(sum.redriven, rate, startedAt);
    if (aheadMs > 0) await setTimeout(aheadMs, undefined, { signal }).catch(() => {});
  };

  for await (const failure of selectFailures(ledger, batch.id, { state, code })) {
    if (chunkOf(failure) >= batch.chunks || failure.at >= before) continue;
    if (signal?.aborted === true || refusal !== undefined || asked + failure.size > limit) {
      sum.left += failure.size;
      continue;
    }
    asked += failure.size;
    window.push(failure);
    // With a rate, failures are redriven one by one, so that it is even.
    if (window.length >= (rate === Infinity ? WINDOW : 1)) await flush();
  }
  if (window.length > 0) await flush();
  const { id } = batch;
  return {
    batch: id,
    ...sum,
    ...(refusal === undefined ? {} : { reason: refusalText(id, refusal) }),
  };
}

/** The name of a failure is `<chunk>` or `<chunk>.<part>`. */
function chunkOf({ name }: FailureRecord): number {
  return Number.parseInt(name, 10);
}

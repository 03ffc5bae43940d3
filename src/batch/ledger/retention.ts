import type { Batch } from './batch-record.ts';

/** The warning starts in the last fifth of the retention, but at most three days before its end. */
const LAST_SHARE = 0.2;
const LAST_MS = 3 * 24 * 3_600_000;

/** Failed contacts that a person can still decide about, and until when they are kept. */
export interface NearEnd {
  readonly contacts: number;
  readonly keptUntil: number;
  readonly restMs: number;
}

/**
 * The failed contacts (rejected, unknown or expired) of a batch that is about to be deleted;
 * undefined if there are none, or it is kept for longer.
 *
 * @param now milliseconds since the epoch
 */
export function nearEndOfRetention(
  batch: Pick<Batch, 'finishedAt' | 'retentionMs' | 'counts'>,
  now: number,
): NearEnd | undefined {
  const { rejected, unknown, expired } = batch.counts;
  const contacts = rejected + unknown + expired;
  if (batch.finishedAt === 0 || contacts === 0) return undefined;
  const keptUntil = batch.finishedAt + batch.retentionMs;
  if (keptUntil - now > warningMs(batch.retentionMs)) return undefined;
  return { contacts, keptUntil, restMs: Math.max(0, keptUntil - now) };
}

/** How long before its deletion something that is kept for `keptMs` milliseconds is about to be deleted. */
export function warningMs(keptMs: number): number {
  return Math.min(LAST_MS, keptMs * LAST_SHARE);
}

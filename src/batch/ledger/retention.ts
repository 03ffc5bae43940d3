import type { Batch } from './batch-record.ts';

/** The last part of a batch's retention in which open failures are a warning, and at most so long. */
const LAST_SHARE = 0.2;
const LAST_MS = 3 * 24 * 3_600_000;

/** Contacts that a person may still decide about, and until when they are kept. */
export interface NearEnd {
  readonly contacts: number;
  readonly keptUntil: number;
  readonly restMs: number;
}

/**
 * Whether a batch is about to be deleted while some of its contacts are rejected, unknown or
 * expired. Undefined where there is nothing to warn of.
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
  if (!nearEnd(keptUntil, batch.retentionMs, now)) return undefined;
  return { contacts, keptUntil, restMs: Math.max(0, keptUntil - now) };
}

/** Whether something that is kept for `keptMs` is in the last part of its time. */
export function nearEnd(keptUntil: number, keptMs: number, now: number): boolean {
  return keptUntil - now <= Math.min(LAST_MS, keptMs * LAST_SHARE);
}

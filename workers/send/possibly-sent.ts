import type { Job } from 'bullmq';
import type { Outcome } from '../../src/contracts/outcome.ts';

/*
 * Doubt sticks: once an attempt at-least-once may have been taken, only an acceptance is certain of the
 * notice. A later refusal, a deadline that passes or attempts that run out say nothing about the first
 * request. (At-most-once the intents say all that is known: notice-intent.ts.)
 */

/** Kept with the reason of a failed attempt, so that the next one knows. */
const MARK = '(may have been taken)';

/** Whether an earlier attempt of a job may have been taken: it ended so, or its worker died with it. */
export function isPossiblySent(job: Pick<Job, 'failedReason' | 'stalledCounter'>): boolean {
  return job.stalledCounter > 0 || (job.failedReason ?? '').endsWith(MARK);
}

/** The reason that is kept of an attempt after which there is doubt. */
export function withPossiblySentMark(detail: string): string {
  return detail === '' ? MARK : `${detail} ${MARK}`;
}

/**
 * What is known of a notice at-least-once after an attempt.
 *
 * | earlier doubt | outcome of this attempt | attempts left | known |
 * |---|---|---|---|
 * | no | any | any | the same |
 * | yes | rejected | any | unknown, and no attempt follows |
 * | yes | expired | any | unknown, and no attempt follows |
 * | yes | retry, counted | none | unknown, and no attempt follows |
 * | yes | any other | any | the same |
 */
export function knownAfter(
  outcome: Outcome | undefined,
  { possiblySent, lastAttempt }: { readonly possiblySent: boolean; readonly lastAttempt: boolean },
): Outcome | undefined {
  if (!possiblySent) return outcome;
  switch (outcome?.kind) {
    case 'rejected':
      return { kind: 'unknown', code: outcome.code, final: true };
    case 'expired':
      return { kind: 'unknown', code: 'OUTCOME_UNKNOWN', final: true };
    case 'retry':
      return outcome.counted && lastAttempt
        ? { kind: 'unknown', code: outcome.code, final: true }
        : outcome;
    case undefined:
    case 'accepted':
    case 'unknown':
    case 'hold':
    case 'cancelled':
      return outcome;
  }
}

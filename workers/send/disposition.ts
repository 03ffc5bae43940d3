import { DelayedError, RateLimitError, UnrecoverableError, type Job } from 'bullmq';
import type { Outcome } from '../../src/contracts/outcome.ts';

/**
 * What BullMQ is told after each outcome. A processor steers its job by what it returns or throws;
 * what it throws is stored with the job and shown by boards, so the messages hold codes and no
 * data, and no stack.
 *
 * | outcome | told | attempt | job |
 * |---|---|---|---|
 * | accepted, expired, cancelled | a value | spent, none, none | done |
 * | rejected | UnrecoverableError | spent | failed, kept |
 * | unknown, at-most-once or final | UnrecoverableError | spent | failed, kept, listed as unknown |
 * | retry, unknown | AttemptError | spent | backs off; failed, kept, when the attempts are used up |
 * | retry, not counted | DelayedError | none | comes back after a moment |
 * | hold | RateLimitError | none | first in line once the hold is over |
 */
export interface JobResult {
  readonly outcome: 'accepted' | 'expired' | 'cancelled';
  readonly confirmed: boolean;
}

/** An attempt that was spent and may be followed by another. */
class AttemptError extends Error {
  override readonly name = 'AttemptError';
}

export function withoutStack<Thrown extends Error>(error: Thrown): Thrown {
  // BullMQ keeps the stack with the job; ours would say nothing that the code does not.
  error.stack = '';
  return error;
}

/** How long a job stays away that is given back without blame. */
const SHORT_DELAY_MS = 1_000;

/**
 * Ends a processor run: returns what the job's result is, or throws what BullMQ acts upon.
 *
 * @param lockToken the worker's token for the job's lock
 * @param detail what is kept with a failed job beside the code: status and the service's own
 *   message, already masked
 * @param atMostOnce an unknown outcome is not tried again
 */
export async function applyOutcome(
  job: Job,
  lockToken: string | undefined,
  outcome: Outcome,
  detail: string,
  atMostOnce = false,
): Promise<JobResult> {
  switch (outcome.kind) {
    case 'accepted':
      return { outcome: 'accepted', confirmed: outcome.confirmed };
    case 'expired':
    case 'cancelled':
      return { outcome: outcome.kind, confirmed: true };
    case 'rejected':
      throw withoutStack(new UnrecoverableError(join(outcome.code, detail)));
    case 'unknown':
      if (atMostOnce || outcome.final === true)
        throw withoutStack(new UnrecoverableError(join(outcome.code, detail)));
      throw withoutStack(new AttemptError(join(outcome.code, detail)));
    case 'retry':
      if (outcome.counted) throw withoutStack(new AttemptError(join(outcome.code, detail)));
      return delayJob(job, lockToken, SHORT_DELAY_MS, outcome.code);
    case 'hold':
      // The text is BullMQ's own signal; the hold itself says why (HOLDS).
      throw withoutStack(new RateLimitError());
  }
}

/**
 * Gives a job back unsent, without spending an attempt, to come back after so many milliseconds. BullMQ
 * brings it back by the clock of a worker; ours is the one that is sure to be there.
 */
export async function delayJob(
  job: Job,
  lockToken: string | undefined,
  ms: number,
  why: string,
): Promise<never> {
  await job.moveToDelayed(Date.now() + ms, lockToken);
  throw withoutStack(new DelayedError(why));
}

/** Gives a job back unsent, without spending an attempt, to the front of the line. */
export function requeue(): never {
  throw withoutStack(new RateLimitError());
}

const join = (code: string, detail: string) => (detail === '' ? code : `${code}: ${detail}`);

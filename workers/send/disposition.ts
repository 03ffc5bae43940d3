import { DelayedError, RateLimitError, UnrecoverableError, type Job } from 'bullmq';
import type { Outcome } from '../../src/contracts/outcome.ts';
import type { SendAnswer } from '../../src/service/response/send-answer.ts';

/** A job in its run, and the worker's token for its lock. */
export interface LockedJob {
  readonly job: Job;
  readonly lockToken: string | undefined;
}

/** The result of a single notice's job. */
export interface JobResult {
  readonly outcome: 'accepted' | 'expired' | 'cancelled';
  readonly confirmed: boolean;
}

/** An attempt that was counted and may be followed by another. */
class AttemptError extends Error {
  override readonly name = 'AttemptError';
}

/** Removes the stack: BullMQ would store it with the job, and it says no more than the code. */
export function withoutStack<Thrown extends Error>(error: Thrown): Thrown {
  error.stack = '';
  return error;
}

/** Delay of a job that is tried again without counting an attempt, in milliseconds. */
const SHORT_DELAY_MS = 1_000;

/**
 * Ends the run of a job by its outcome. BullMQ acts by what a run returns or throws. What it throws is
 * stored with the job and shown by boards, so the messages contain codes and no data.
 *
 * | outcome | returned or thrown | attempt | job |
 * |---|---|---|---|
 * | accepted, expired, cancelled | a {@link JobResult} | counted, no, no | done |
 * | rejected | UnrecoverableError | counted | failed, kept |
 * | unknown, at-most-once or final | UnrecoverableError | counted | failed, kept, listed as unknown |
 * | retry, unknown | AttemptError | counted | backs off; failed, kept, when no attempts are left |
 * | retry, not counted | DelayedError | not counted | delayed for a second |
 * | hold | RateLimitError | not counted | first in the queue when the hold is over |
 *
 * @param detail what is kept with a failed job beside the code ({@link detailOf})
 * @param atMostOnce an unknown outcome is not retried
 */
export async function applyOutcome(
  locked: LockedJob,
  outcome: Outcome,
  { detail, atMostOnce = false }: { readonly detail: string; readonly atMostOnce?: boolean },
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
      return delayJob(locked, SHORT_DELAY_MS, outcome.code);
    case 'hold':
      return requeue();
  }
}

/**
 * Delays an unsent job by `ms` milliseconds without counting an attempt. BullMQ promotes it by the clock
 * of a worker, so the delay is added to our own.
 */
export async function delayJob(
  { job, lockToken }: LockedJob,
  ms: number,
  reason: string,
): Promise<never> {
  await job.moveToDelayed(Date.now() + ms, lockToken);
  throw withoutStack(new DelayedError(reason));
}

/** Returns an unsent job to the front of the queue, without counting an attempt. */
export function requeue(): never {
  // The message is BullMQ's own signal.
  throw withoutStack(new RateLimitError());
}

/** What is kept of a failed attempt: the status and the service's own message, masked. */
export function detailOf(answer: SendAnswer | undefined): string {
  if (answer === undefined) return '';
  const status = answer.status === undefined ? '' : `HTTP ${answer.status}`;
  return [status, answer.message ?? answer.failureCode ?? '']
    .filter((part) => part !== '')
    .join(' ');
}

const join = (code: string, detail: string) => (detail === '' ? code : `${code}: ${detail}`);

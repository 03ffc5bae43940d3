import { DelayedError, RateLimitError, type Job } from 'bullmq';
import type { Outcome, PossibleSends } from '../../src/contracts/outcome.ts';
import { AttemptError } from '../queue/attempt-error.ts';
import type { EndedState } from '../../src/notices/ended.ts';
import type { SendAnswer } from '../../src/service/send-call.ts';

/** A job in its run, and the worker's token for its lock. */
export interface LockedJob {
  readonly job: Job;
  readonly lockToken: string | undefined;
}

/** The result of a single notice's job. */
export interface JobResult extends Partial<PossibleSends> {
  /** `ended`: an earlier run has recorded its end. */
  readonly outcome: EndedState | 'ended';
  readonly confirmed: boolean;
}

/** Removes the stack: BullMQ would store it with the job, and it says no more than the code. */
export function withoutStack<Thrown extends Error>(error: Thrown): Thrown {
  error.stack = '';
  return error;
}

/** How {@link applyOutcome} ends a run. */
interface AppliedOptions {
  readonly detail?: string;
  readonly sends?: PossibleSends;
}

/** Delay of a job that is tried again without counting an attempt, in milliseconds. */
const SHORT_DELAY_MS = 1_000;

/**
 * Ends the run of a job that is accepted, or tried again. BullMQ acts by what a run returns or throws. What it throws is
 * stored with the job and shown by boards, so the messages contain codes and no data.
 *
 * | outcome | returned or thrown | attempt | job |
 * |---|---|---|---|
 * | accepted | a {@link JobResult} | counted | done |
 * | any other at its end | the same, once its end is recorded (notice-end.ts, the ledger) | counted | done, removed |
 * | retry, unknown | AttemptError | counted | backs off |
 * | retry, not counted | DelayedError | not counted | delayed for a second |
 * | hold that its own request met | DelayedError | not counted | behind the others: delayed until after the next probe |
 * | hold otherwise | RateLimitError | not counted | first in the queue when the hold is over |
 *
 * @param detail what is kept with a failed attempt beside the code ({@link detailOf}). Default: nothing
 * @param sends what the service may have accepted of the job, this attempt included. Default: nothing
 */
export async function applyOutcome(
  locked: LockedJob,
  outcome: Outcome,
  { detail = '', sends }: AppliedOptions = {},
): Promise<JobResult> {
  switch (outcome.kind) {
    case 'accepted':
      return {
        outcome: 'accepted',
        confirmed: outcome.confirmed,
        ...(sends === undefined || sends.possiblySent === 0 ? {} : sends),
      };
    case 'rejected':
    case 'expired':
    case 'cancelled':
      return { outcome: outcome.kind, confirmed: true };
    case 'unknown':
      throw withoutStack(
        new AttemptError(
          failedReasonOf(outcome.code, detail),
          outcome.behindMs === undefined
            ? { possiblySent: sends?.possiblySent ?? 1 }
            : { ms: outcome.behindMs },
        ),
      );
    case 'retry':
      if (outcome.counted) {
        throw withoutStack(new AttemptError(failedReasonOf(outcome.code, detail), outcome.backoff));
      }
      return delayJob(locked, SHORT_DELAY_MS, outcome.code);
    case 'hold':
      return outcome.behindMs === undefined
        ? requeue()
        : delayJob(locked, outcome.behindMs, outcome.code);
  }
}

/** Why a job is put off. */
export const PUT_OFF = 'its template is held, or its sending hours are closed';

/** Delays an unsent job by `ms` milliseconds, which BullMQ reckons from the wall clock, without counting an attempt. */
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

/** What is stored with a failed job. */
const failedReasonOf = (code: string, detail: string) =>
  detail === '' ? code : `${code}: ${detail}`;

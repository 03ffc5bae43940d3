import type { Job } from 'bullmq';
import { readJobData, type JobData } from '../src/contracts/job.ts';
import { NoticeQueueError } from '../src/errors.ts';
import type { SendAnswer } from '../src/service/send-answer.ts';
import type { ServiceClient } from '../src/service/service-client.ts';
import { attemptOnce, enterGate, leaveGate, type AttemptParts } from './attempt.ts';
import type { LockFence } from './lock-fence.ts';
import { NoticeIntent, type IntentParts } from './notice-intent.ts';
import { giveBack, putOff, steer, type JobResult } from './steering.ts';

/** What one run of a job needs; a worker process composes it once. */
export interface HandlerParts extends AttemptParts, IntentParts {
  readonly service: Pick<ServiceClient, 'send'>;
  readonly fence: Pick<LockFence, 'guard'>;
  readonly sendDeadlineMs: number;
  /** The clock of Redis, by which the whole fleet judges deadlines; milliseconds since the epoch. */
  readonly now: () => number;
  /** Aborted when the worker stops: what has not been sent goes back. */
  readonly stopping: AbortSignal;
}

/** A worker whose clock is ahead fetches delayed notices early; so much of it is no matter. */
const EARLY_MS = 1_000;

/**
 * Runs the job of a single notice once: read, check the deadline, pass the gate, send, decide, settle.
 *
 * Nothing is sent by a process that is stopping, that may have lost the job's lock, or while the
 * queue is held. Each of these gives the job back without spending an attempt. A notice at-most-once
 * records its intent right before the request, and is never sent again once its outcome is unknown
 * (notice-intent.ts).
 */
export async function runJob(
  job: Job,
  lockToken: string | undefined,
  signal: AbortSignal | undefined,
  parts: HandlerParts,
): Promise<JobResult> {
  const attempt = parts.log.begin(job);
  let data: JobData;
  try {
    data = readJobData(job.data);
  } catch (error) {
    const text = error instanceof NoticeQueueError ? error.message : '';
    attempt.end({ kind: 'rejected', code: 'JOB_INVALID' });
    return steer(job, lockToken, { kind: 'rejected', code: 'JOB_INVALID' }, text);
  }
  const earlyMs = msUntilDue(job, parts.now());
  if (earlyMs > EARLY_MS) return putOff(job, lockToken, earlyMs, 'not due yet');
  const intent = new NoticeIntent(job, data, lockToken, parts);
  const { atMostOnce } = intent;
  if (data.expiresAt !== undefined && parts.now() >= data.expiresAt) {
    // An attempt before the deadline may have been taken.
    if (atMostOnce && !(await intent.begin()) && intent.earlier === undefined) {
      await intent.end(undefined, undefined);
      giveBack();
    }
    const outcome = intent.earlier ?? ({ kind: 'expired' } as const);
    await intent.end(outcome, undefined);
    attempt.end(outcome);
    return steer(job, lockToken, outcome, '', atMostOnce);
  }

  const guard = parts.fence.guard(job);
  const abort = signal === undefined ? parts.stopping : AbortSignal.any([parts.stopping, signal]);
  try {
    if (abort.aborted) giveBack();
    const passage = await enterGate(parts);
    if (passage === undefined) giveBack();

    const { notice } = data;
    const { sendDeadlineMs: deadlineMs, service } = parts;
    const attempted = await attemptOnce(
      (tokens) => service.send(notice, tokens, { deadlineMs }),
      guard.owned,
      abort,
      parts,
      atMostOnce ? () => intent.begin() : undefined,
    );
    const { answer } = attempted;
    const outcome = attempted.outcome ?? intent.earlier;
    await intent.end(outcome, answer);
    await leaveGate(attempted.outcome, passage, parts);
    attempt.end(outcome, answer, {
      contacts: notice.contacts.length,
      probe: passage.probe !== undefined,
    });
    if (outcome === undefined) giveBack();
    return await steer(job, lockToken, outcome, detailOf(answer), atMostOnce);
  } finally {
    guard.release();
  }
}

/** How long until a notice is due that was handed over with a delay; 0 for any other. */
function msUntilDue(job: Job, now: number): number {
  const { delay = 0 } = job.opts;
  return delay > 0 ? Math.max(0, job.timestamp + delay - now) : 0;
}

/** What is kept of a failure: the status and the service's own message, masked. */
export function detailOf(answer: SendAnswer | undefined): string {
  if (answer === undefined) return '';
  const status = answer.status === undefined ? '' : `HTTP ${answer.status}`;
  return [status, answer.message ?? answer.failureCode ?? '']
    .filter((part) => part !== '')
    .join(' ');
}

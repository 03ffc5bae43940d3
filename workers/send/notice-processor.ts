import type { Job } from 'bullmq';
import { readJobData, type JobData } from '../../src/contracts/job.ts';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import type { SendAnswer } from '../../src/service/response/send-answer.ts';
import type { AttemptLog } from './attempt-log.ts';
import type { Coalescer } from './coalescer.ts';
import { withPossiblySentMark } from './possibly-sent.ts';
import type { HeldNotice, NoticeEnd } from './send-group.ts';
import type { AdaptiveConcurrency } from '../queue/adaptive-concurrency.ts';
import type { JobLockGuard } from '../queue/job-lock-guard.ts';
import { noticeIntent } from './notice-intent.ts';
import { requeue, delayJob, applyOutcome, type JobResult } from './disposition.ts';
import { pendingNotice } from './pending-notices.ts';

/** What one run of a job needs; a worker process composes it once. */
export interface NoticeContext {
  readonly coalescer: Pick<Coalescer<HeldNotice>, 'add'>;
  readonly concurrency: Pick<AdaptiveConcurrency, 'taken' | 'freed' | 'ranDry'>;
  readonly lockGuard: Pick<JobLockGuard, 'guard'>;
  readonly log: AttemptLog;
  /** COALESCE_MAX_CONTACTS */
  readonly maxContacts: number;
  /** The clock of Redis, by which the whole fleet judges deadlines; milliseconds since the epoch. */
  readonly now: () => number;
}

/** A worker whose clock is ahead fetches delayed notices early; so much of it is no matter. */
const EARLY_MS = 1_000;

/**
 * Runs the job of a single notice once: read, stand in line, be sent (coalescer.ts, send-group.ts),
 * settle. The job keeps its own attempt, its own line in the log and its own result, whoever else its
 * request carries.
 *
 * Nothing is sent by a process that is stopping, that may have lost the job's lock, or while the
 * queue is held. Each of these gives the job back without spending an attempt. A notice at-most-once
 * records its intent right before the request, and is never sent again once its outcome is unknown
 * (notice-intent.ts).
 */
export async function runNotice(
  job: Job,
  lockToken: string | undefined,
  parts: NoticeContext,
): Promise<JobResult> {
  const attempt = parts.log.begin(job);
  let data: JobData;
  try {
    data = readJobData(job.data);
  } catch (error) {
    const text = error instanceof NoticeQueueError ? error.message : '';
    attempt.end({ kind: 'rejected', code: 'JOB_INVALID' });
    return applyOutcome(job, lockToken, { kind: 'rejected', code: 'JOB_INVALID' }, text);
  }
  const earlyMs = msUntilDue(job, parts.now());
  if (earlyMs > EARLY_MS) return delayJob(job, lockToken, earlyMs, 'not due yet');
  const { concurrency: slots } = parts;
  const guard = parts.lockGuard.guard(job);
  const contacts = data.notice.contacts.length;
  const intent = noticeIntent(job, data, lockToken);
  slots.taken(contacts);
  try {
    const { outcome, answer, ...facts } = await new Promise<NoticeEnd>((end, fail) => {
      parts.coalescer.add({
        ...pendingNotice(data, job.attemptsMade, parts.maxContacts),
        data,
        intent,
        owned: guard.owned,
        isLate: () => data.expiresAt !== undefined && parts.now() >= data.expiresAt,
        end,
        fail,
      });
    });
    attempt.end(outcome, answer, { contacts, ...facts });
    if (outcome === undefined || outcome.kind === 'hold') slots.ranDry();
    if (outcome === undefined) requeue();
    const atMostOnce = data.delivery === 'at-most-once';
    const inDoubt = !atMostOnce && (intent.possiblySent || outcome.kind === 'unknown');
    const detail = inDoubt ? withPossiblySentMark(detailOf(answer)) : detailOf(answer);
    return await applyOutcome(job, lockToken, outcome, detail, atMostOnce);
  } finally {
    slots.freed(contacts);
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

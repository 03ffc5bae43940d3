import type { Job } from 'bullmq';
import type { Sealing } from '../../src/payload/seal.ts';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import { firstDue, type JobData } from '../../src/contracts/job.ts';
import type { Outcome } from '../../src/contracts/outcome.ts';
import {
  attemptsEndedUnknown,
  possiblySentAttempts,
  possiblySentTraceIds,
  withPossiblySentMark,
} from '../../src/contracts/possibly-sent.ts';
import { openJob } from '../../src/payload/sealed-job.ts';
import type { AdaptiveConcurrency } from '../queue/adaptive-concurrency.ts';
import type { ListUnknown } from '../queue/end-after-stall.ts';
import type { JobLockGuard } from '../queue/job-lock-guard.ts';
import type { AttemptLog } from './attempt-log.ts';
import { pendingNotice, type Coalescer } from './coalescer.ts';
import { keepContacts } from './contact-results.ts';
import {
  applyOutcome,
  delayJob,
  detailOf,
  failedReasonOf,
  requeue,
  type JobResult,
  type LockedJob,
} from './disposition.ts';
import type { HeldNotice, NoticeEnd } from './held-notice.ts';
import { returnReasonOf, type JobReturns } from './job-returns.ts';
import { noticeIntent, unknownEarlier, type NoticeIntent } from './notice-intent.ts';

/** What the jobs of single notices need; a worker process composes it once. */
export interface NoticeContext {
  readonly coalescer: Pick<Coalescer<HeldNotice>, 'add'>;
  readonly concurrency: Pick<AdaptiveConcurrency, 'taken' | 'freed' | 'ranDry'>;
  readonly lockGuard: Pick<JobLockGuard, 'guard'>;
  readonly listUnknown: ListUnknown;
  readonly log: AttemptLog;
  readonly returns: Pick<JobReturns, 'returnJob'>;
  readonly sealing: Sealing;
  /** COALESCE_MAX_CONTACTS */
  readonly maxContacts: number;
  /** UNKNOWN_RESENDS */
  readonly unknownResends: number;
  /** The clock of Redis, by which the whole fleet decides about deadlines; ms since the epoch. */
  readonly now: () => number;
}

/**
 * A worker whose clock is fast fetches delayed notices early. Up to this much is tolerated: it is less than
 * the clock of Redis is known to.
 */
const EARLY_MS = 100;

/**
 * Runs the job of a single notice once: read it, pass it to the coalescer, which sends it with others
 * (coalescer.ts, send-group.ts), and apply the outcome. The job keeps its own attempt, line in the log and
 * result, whatever else its request contains.
 *
 * Nothing is sent by a process that is stopping, that may have lost the job's lock, or while the queue is
 * held; the job is then requeued without counting an attempt. An at-most-once notice records its intent
 * right before the request, and is not sent again once its outcome is unknown (notice-intent.ts).
 */
export async function runNotice(locked: LockedJob, context: NoticeContext): Promise<JobResult> {
  const { job, lockToken } = locked;
  let data: JobData;
  try {
    data = openJob(job.data, job.id ?? '', context.sealing);
  } catch (error) {
    const reason = returnReasonOf(error);
    if (reason !== undefined) await context.returns.returnJob(locked, reason);
    return endUnreadable(locked, error, context);
  }
  const attempt = context.log.begin(job);
  const earlyMs = msUntilDue(job, context);
  if (earlyMs > EARLY_MS) return delayJob(locked, earlyMs, 'not due yet');
  const { concurrency } = context;
  const { owned, release } = context.lockGuard.guard(job);
  const contacts = data.notice.contacts.length;
  const intent = noticeIntent(job, data, lockToken, context.unknownResends);
  concurrency.taken(contacts);
  try {
    let ended: NoticeEnd;
    try {
      ended = await new Promise((end, fail) => {
        const { groupKey, numbers } = pendingNotice(data, job.attemptsMade, context.maxContacts);
        context.coalescer.add({
          groupKey,
          numbers,
          data,
          intent,
          owned,
          keep: (kept) => keepContacts(job, kept, context),
          isLate: () => data.expiresAt !== undefined && context.now() >= data.expiresAt,
          end,
          fail,
        });
      });
    } catch (error) {
      context.log.trouble('notice', error);
      ended = { outcome: await afterProgramError(job, intent, context) };
    }
    const { outcome, answer, asideMs, together, probe, uncounted, results, counted } = ended;
    attempt.end(outcome, answer, {
      contacts,
      possiblySent: intent.possiblySent,
      together,
      probe,
      uncounted,
      results,
      counted,
    });
    if (outcome === undefined || outcome.kind === 'hold') concurrency.ranDry();
    if (asideMs !== undefined) return await delayJob(locked, asideMs, 'others probe first');
    if (outcome === undefined) requeue();
    // Most attempts: no reason is stored.
    if (outcome.kind === 'accepted') return { outcome: 'accepted', confirmed: outcome.confirmed };
    const atMostOnce = data.delivery === 'at-most-once';
    const endedUnknown = outcome.kind === 'unknown' && outcome.earlier !== true ? 1 : 0;
    const own = endedUnknown === 1 && answer?.traceId !== undefined ? [answer.traceId] : [];
    // The attempts of at-most-once notices are counted by their intents.
    const ends = atMostOnce ? 0 : attemptsEndedUnknown(job) + endedUnknown;
    const detail = withPossiblySentMark(detailOf(answer), ends, [...intent.traceIds, ...own]);
    const possiblySent = intent.possiblySent + endedUnknown;
    return await applyOutcome(locked, outcome, { detail, atMostOnce, possiblySent });
  } finally {
    concurrency.freed(contacts);
    release();
  }
}

/** Ends a job that no worker can read: rejected, or unknown where an earlier run may have sent it. */
async function endUnreadable(
  locked: LockedJob,
  error: unknown,
  { log, listUnknown }: NoticeContext,
): Promise<JobResult> {
  const { job } = locked;
  const attempt = log.begin(job);
  const isOurs = error instanceof NoticeQueueError;
  const code = isOurs ? error.code : 'JOB_INVALID';
  const ends = attemptsEndedUnknown(job);
  const text = isOurs ? error.message : '';
  const detail = withPossiblySentMark(text, ends, possiblySentTraceIds(job));
  const { delivery } = (job.data ?? {}) as Partial<Pick<JobData, 'delivery'>>;
  const possiblySent = possiblySentAttempts(job, delivery);
  const isListed = await listUnknown(job, failedReasonOf(code, detail));
  const outcome: Outcome =
    isListed || possiblySent > 0 ? unknownEarlier(code) : { kind: 'rejected', code };
  attempt.end(outcome, undefined, { possiblySent });
  return applyOutcome(locked, outcome, { detail });
}

/**
 * The outcome of an attempt that an error in this program ended: it may have been sent. The next run of an
 * at-most-once notice finds its intent and decides. Where none follows, the notice is listed here.
 */
async function afterProgramError(
  job: Job,
  { data: { delivery }, lastAttempt, traceIds }: NoticeIntent,
  { listUnknown }: Pick<NoticeContext, 'listUnknown'>,
): Promise<Outcome> {
  const code = 'INTERNAL_ERROR';
  const isOnce = delivery !== undefined;
  if (lastAttempt) {
    const ends = isOnce ? 0 : attemptsEndedUnknown(job) + 1;
    const reason = failedReasonOf(code, withPossiblySentMark('', ends, traceIds));
    if (await listUnknown(job, reason)) return { kind: 'unknown', code, final: true };
  }
  return isOnce ? { kind: 'retry', code, counted: true } : { kind: 'unknown', code };
}

/** Milliseconds until a notice is due that was sent with a delay; 0 for any other. */
function msUntilDue(job: Job, { now }: Pick<NoticeContext, 'now'>): number {
  return (job.opts.delay ?? 0) > 0 ? Math.max(0, firstDue(job) - now()) : 0;
}

import type { Job } from 'bullmq';
import { settleWithRetry } from '../../src/async/repeat.ts';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import type { JobData } from '../../src/contracts/job.ts';
import type { Outcome } from '../../src/contracts/outcome.ts';
import { newestTraceIds, type PossibleSends } from '../../src/contracts/outcome.ts';
import { OPEN } from '../../src/fleet/hold/hold-gate.ts';
import { possibleSends, type JobHistories, type JobHistory } from '../../src/fleet/job-history.ts';
import { heldName } from '../../src/fleet/hold/template-hold.ts';
import type { Sealing } from '../../src/payload/seal.ts';
import { openJob, type StoredJobData } from '../../src/payload/sealed-job.ts';
import { isProgramError } from '../../src/redis/failure.ts';
import type { ServiceClient } from '../../src/service/client.ts';
import type { JobLocks } from '../queue/job-locks.ts';
import { enter, runAttempt, type AttemptContext } from './attempt.ts';
import {
  isLaterRun,
  readHistory,
  readOrRequeue,
  type Attempted,
  type GateJob,
} from './gate-job.ts';
import {
  applyOutcome,
  delayJob,
  PUT_OFF,
  detailOf,
  requeue,
  type JobResult,
  type LockedJob,
} from './disposition.ts';
import { returnReasonOf, type JobReturns } from './job-returns.ts';
import { decideNotice, mayGo, type NoticeRun } from './notice-decision.ts';
import { endNotice, endOf, entryOf, unreadableEntry, type NoticeEnds } from './notice-end.ts';
import {
  beginIntent,
  endIntent,
  intentRecorder,
  noticeIntent,
  uncountSentAgain,
  unknownEarlier,
  type IntentContext,
  type NoticeIntent,
} from './notice-intent.ts';

/** What the jobs of single notices need; a worker process composes it once. */
export interface NoticeContext extends AttemptContext, IntentContext {
  readonly service: Pick<ServiceClient, 'send'>;
  readonly locks: Pick<JobLocks, 'of'>;
  readonly ends: NoticeEnds;
  readonly histories: Pick<JobHistories, 'read' | 'noteUnknown' | 'forget'>;
  readonly returns: Pick<JobReturns, 'returnJob'>;
  readonly sealing: Sealing;
  /** UNKNOWN_RESENDS */
  readonly unknownResends: number;
  /** The clock of Redis, by which the whole fleet decides about deadlines; ms since the epoch. */
  readonly now: () => number;
  /** Puts a rejected notice back to waiting: its template is held. */
  readonly takeBack: (id: string) => Promise<void>;
  /** Writes the Redis commands from now to the end of this turn of the event loop at once. */
  readonly inOneWrite: () => void;
}

/**
 * Runs the job of a single notice once: read it, gate and permit, send, decide, record, and end the job by the
 * outcome.
 *
 * Nothing is sent by a process that is stopping, that may have lost the job's lock, or while the queue is
 * held; the job is then requeued without counting an attempt. An at-most-once notice records its intent
 * right before the request, and is not sent again once its outcome is unknown (notice-intent.ts).
 */
export async function runNotice(locked: LockedJob, context: NoticeContext): Promise<JobResult> {
  const { job, lockToken } = locked;
  const history = await readHistory(job, context.histories, context.log);
  const { id = '' } = job;
  // The run that ended it died before BullMQ had completed the job.
  if (isLaterRun(job) && (await readOrRequeue(() => context.ends.has(id), context.log)))
    return { outcome: 'ended', confirmed: true };
  let data: JobData;
  try {
    data = openJob(job.data, id, context.sealing);
  } catch (error) {
    const reason = returnReasonOf(error);
    if (reason !== undefined) await context.returns.returnJob(locked, reason);
    return endUnreadable(locked, error, history, context);
  }
  if (data.earlier !== undefined) await readOrRequeue(() => context.ends.taken(id), context.log);
  const line = context.log.begin(job);
  const lock = context.locks.of(job);
  try {
    const sends = possibleSends(history, job.stalledCounter);
    const intent = noticeIntent(job, data, lockToken, context.unknownResends, sends);
    const isLate = () => data.expiresAt !== undefined && context.now() >= data.expiresAt;
    const run = { data, intent, lock, isLate };
    const end = await attemptNotice(job, run, history, context).catch((error: unknown) => {
      context.log.trouble('notice', error);
      return afterProgramError(intent, context);
    });
    const { outcome, answer, probe, putOffMs } = end;
    const contacts = data.notice.contacts.length;
    const { possiblySent } = intent;
    line.end(outcome, answer, { contacts, possiblySent, probe });
    context.inOneWrite();
    if (putOffMs !== undefined) return await delayJob(locked, putOffMs, PUT_OFF);
    if (outcome === undefined) requeue();
    return await endRun(locked, intent, { ...end, outcome }, context);
  } finally {
    lock.release();
  }
}

/** What is known of a notice at the end of a run. */
interface NoticeEnd extends Attempted {
  /** It was the probe of a hold. */
  readonly probe?: boolean;
  /** Its template is held or closed: it comes again after so many milliseconds. */
  readonly putOffMs?: number;
}

async function attemptNotice(
  job: Job,
  run: NoticeRun,
  { trouble }: JobHistory,
  context: NoticeContext,
): Promise<NoticeEnd> {
  const { data, intent } = run;
  if (!mayGo(run)) return recordNotice(run, { outcome: undefined }, context);
  const isOnce = data.delivery !== undefined;
  const gateJob: GateJob = {
    id: intent.job,
    template: heldName(data.notice.templateCode, data.notice),
    trouble,
    runs: job.attemptsStarted,
    leavesProbes: isOnce,
    takeBack: () => context.takeBack(intent.job),
  };
  const entry = await enter(gateJob, context);
  if (entry === undefined) return { outcome: undefined };
  if ('putOffMs' in entry) {
    // It expires in time, too.
    const { expiresAt = Infinity } = data;
    const putOffMs = Math.min(entry.putOffMs, Math.max(0, expiresAt - context.now()));
    return { outcome: undefined, putOffMs };
  }
  const attempted = await runAttempt(
    {
      job: gateJob,
      send: (tokens, options) => context.service.send(data.notice, tokens, options),
      isOnce,
      mayBegin: () => mayGo(run),
      recordIntent: intentRecorder(intent, context),
    },
    entry,
    context,
  );
  const recorded = await recordNotice(run, attempted, context);
  return { ...recorded, probe: entry.entered.passage !== OPEN };
}

/** Decides what becomes of the notice, and records in its intent what is tried again. */
async function recordNotice(
  run: NoticeRun,
  { outcome: attempted, answer }: Attempted,
  context: NoticeContext,
): Promise<NoticeEnd> {
  const { data, intent } = run;
  // The service may have accepted an attempt before the deadline: only the intent knows.
  if (attempted === undefined && data.delivery !== undefined && run.isLate()) {
    await beginIntent(intent, context);
  }
  const outcome = decideNotice(run, attempted);
  const isEnd = endOf(outcome, data.delivery !== undefined, intent.lastAttempt) !== undefined;
  await uncountSentAgain(intent, attempted, context);
  if (!isEnd) await endIntent(intent, outcome, context);
  return { outcome, answer };
}

/** Ends the run by the outcome; the history of the job keeps an attempt that ended unknown and is followed by others. */
async function endRun(
  locked: LockedJob,
  intent: NoticeIntent,
  ended: NoticeEnd & { readonly outcome: Outcome },
  context: NoticeContext,
): Promise<JobResult> {
  const { histories, log } = context;
  const { lastAttempt, possiblySent, traceIds, before, data } = intent;
  const { outcome, answer } = ended;
  const end = endOf(outcome, data.delivery !== undefined, lastAttempt);
  if (end !== undefined) {
    const stored = locked.job.data as StoredJobData;
    const facts = { end, outcome, answer, data: stored };
    return endNotice(locked, entryOf(locked, intent, facts), context);
  }
  const detail = detailOf(answer);
  if (outcome.kind !== 'unknown' || outcome.earlier === true) {
    const all = {
      possiblySent: before.possiblySent + possiblySent,
      traceIds: newestTraceIds([...(before.traceIds ?? []), ...traceIds]),
    };
    return applyOutcome(locked, outcome, { detail, sends: all });
  }
  const { code } = outcome;
  const traceId = answer?.traceId === undefined ? {} : { traceId: answer.traceId };
  const attempt = { run: intent.lockToken, code, ...traceId };
  await settleWithRetry(
    () => histories.noteUnknown(intent.job, attempt),
    (error) => log.trouble('history', error),
  ).catch(() => {});
  return applyOutcome(locked, outcome, {
    detail,
    sends: { possiblySent: possiblySent + 1, traceIds },
  });
}

/** Ends a job that no worker can read: rejected, or unknown where an earlier run may have sent it. */
async function endUnreadable(
  locked: LockedJob,
  error: unknown,
  history: JobHistory,
  context: NoticeContext,
): Promise<JobResult> {
  const { job } = locked;
  const { id = '' } = job;
  const { log, ends, intents } = context;
  const attempt = log.begin(job);
  const isOurs = error instanceof NoticeQueueError;
  const code = isOurs ? error.code : 'JOB_INVALID';
  const message = isOurs ? error.message : '';
  const { delivery } = (job.data ?? {}) as Partial<Pick<JobData, 'delivery'>>;
  const onceSends = async (): Promise<PossibleSends> => ({
    possiblySent: (await intents.isOpen(id)) ? 1 : 0,
    traceIds: [],
  });
  // The intent of an at-most-once notice tells whether it may have been sent.
  const [sends, text] = await settleWithRetry(
    () =>
      Promise.all([
        delivery === 'at-most-once' ? onceSends() : possibleSends(history, job.stalledCounter),
        ends.textOf(id),
      ]),
    (failure) => log.trouble('history', failure),
    (failure) => !isProgramError(failure),
  );
  const entry = unreadableEntry(locked, code, message, sends, text);
  const { possiblySent } = entry;
  const outcome: Outcome = possiblySent > 0 ? unknownEarlier(code) : { kind: 'rejected', code };
  attempt.end(outcome, undefined, { possiblySent });
  return endNotice(locked, entry, context);
}

/**
 * The outcome of an attempt that an error in this program ended: it may have been sent. The next run of an
 * at-most-once notice finds its intent and decides; where none follows, the intent decides here.
 */
async function afterProgramError(
  { job, data: { delivery }, lastAttempt }: NoticeIntent,
  { intents }: NoticeContext,
): Promise<NoticeEnd> {
  const code = 'INTERNAL_ERROR';
  if (delivery === undefined) return { outcome: { kind: 'unknown', code } };
  const isUnknown = lastAttempt && (await intents.isOpen(job).catch(() => true));
  return {
    outcome: isUnknown ? { kind: 'unknown', code } : { kind: 'retry', code, counted: true },
  };
}

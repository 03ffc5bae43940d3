import type { Job } from 'bullmq';
import { pause } from '../../src/async/cancellation.ts';
import { settleWithRetry } from '../../src/async/repeat.ts';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import type { JobData } from '../../src/contracts/job.ts';
import { newestTraceIds, type Outcome, type PossibleSends } from '../../src/contracts/outcome.ts';
import { isProbe } from '../../src/fleet/hold/hold-gate.ts';
import { heldName } from '../../src/contracts/hold.ts';
import type { JobHistories } from '../../src/fleet/job-history.ts';
import { PayloadKeyMissing, type Sealing } from '../../src/payload/seal.ts';
import { openJob } from '../../src/payload/sealed-job.ts';
import { isProgramError } from '../../src/redis/failure.ts';
import type { ServiceClient } from '../../src/service/client.ts';
import type { SendCheck } from '../../src/suppression/send-check.ts';
import type { JobLock, JobLocks } from '../queue/send-worker.ts';
import { enter, leaveUnsent, runAttempt, type AttemptContext } from './attempt.ts';
import {
  delayJob,
  endOf,
  PUT_OFF,
  REDIS_AGAIN_MS,
  requeue,
  tryAgain,
  type JobResult,
  type JobReturns,
  isLaterRun,
  readHistory,
  readOrRequeue,
} from './disposition.ts';
import { type Attempted, type GateJob } from './template-refusals.ts';
import { endNotice, entryOf, unreadableEntry, type NoticeEnds } from './notice-end.ts';
import {
  beginIntent,
  contactsSent,
  endIntent,
  intentRecorder,
  knownAfter,
  maySend,
  noticeIntent,
  outcomeUnsent,
  uncountSentAgain,
  unknownEarlier,
  type IntentContext,
  type NoticeIntent,
} from './notice-intent.ts';

/** What the jobs of single notices need; a worker process composes it once. */
export interface NoticeContext extends AttemptContext, IntentContext {
  readonly doNotSend: Pick<SendCheck, 'suppressed'>;
  readonly service: Pick<ServiceClient, 'send'>;
  readonly locks: Pick<JobLocks, 'of'>;
  readonly ends: NoticeEnds;
  readonly histories: JobHistories;
  readonly returns: Pick<JobReturns, 'returnJob'>;
  readonly sealing: Sealing;
  readonly unknownResends: number;
  /** The clock of Redis, by which the whole fleet decides about deadlines; ms since the epoch. */
  readonly now: () => number;
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
export async function runNotice(job: Job, context: NoticeContext): Promise<JobResult> {
  const { id = '' } = job;
  const { log, ends } = context;
  const history = await readHistory(job, context.histories, log);
  // The run that ended it died before BullMQ had completed the job.
  if (isLaterRun(job) && (await readOrRequeue(() => ends.has(id), log))) {
    return { outcome: 'ended' };
  }
  let data: JobData;
  try {
    data = openJob(job.data, id, context.sealing);
  } catch (error) {
    if (error instanceof PayloadKeyMissing) return context.returns.returnJob(job);
    return endUnreadable(job, error, history.sends, context);
  }
  if (data.earlier !== undefined) await readOrRequeue(() => ends.taken(id), log);
  const line = log.begin(job);
  const lock = context.locks.of(job);
  try {
    const intent = noticeIntent(job, data, context.unknownResends, history.sends);
    const end = await attemptNotice(job, intent, lock, history.trouble, context).catch(
      (error: unknown) => {
        log.trouble('notice', error);
        return afterProgramError(intent, context);
      },
    );
    const { outcome, answer, probe, putOffMs } = end;
    const { possiblySent } = intent;
    const contacts = contactsSent(intent);
    line.end(outcome, answer, { contacts, possiblySent, probe });
    context.inOneWrite();
    if (putOffMs !== undefined) return await delayJob(job, putOffMs, PUT_OFF);
    if (outcome === undefined) requeue();
    return await endRun(job, intent, { outcome, answer }, context);
  } finally {
    lock.release();
  }
}

interface NoticeEnd extends Attempted {
  readonly probe?: boolean;
  /** Its template is held or closed: it comes again after so many milliseconds. */
  readonly putOffMs?: number;
}

async function attemptNotice(
  job: Job,
  intent: NoticeIntent,
  lock: JobLock,
  trouble: GateJob['trouble'],
  context: NoticeContext,
): Promise<NoticeEnd> {
  const { notice, delivery, expiresAt = Infinity } = intent.data;
  const isLate = () => context.now() >= expiresAt;
  const mayBegin = () => lock.valid() && !isLate() && maySend(intent);
  /** Decides what becomes of the notice, and records in its intent what is tried again. */
  const record = async ({ outcome: attempted, answer }: Attempted): Promise<NoticeEnd> => {
    // The service may have accepted an attempt before the deadline: only the intent knows.
    if (attempted === undefined && delivery !== undefined && isLate()) {
      await beginIntent(intent, context);
    }
    const outcome =
      attempted === undefined
        ? outcomeUnsent(intent, lock.valid(), isLate())
        : knownAfter(attempted, intent);
    await uncountSentAgain(intent, attempted, context);
    const end = endOf(outcome, delivery !== undefined, intent.lastAttempt);
    if (end === undefined) await endIntent(intent, outcome, context);
    return { outcome, answer };
  };
  if (!mayBegin()) return record({ outcome: undefined });
  const isOnce = delivery !== undefined;
  const gateJob: GateJob = {
    id: intent.job,
    template: heldName(notice.templateCode, notice),
    trouble,
    runs: job.attemptsStarted,
    leavesProbes: isOnce,
    takeBack: () => context.ends.takeBack(intent.job),
  };
  const entry = await enter(gateJob, context);
  if (entry === undefined) return { outcome: undefined };
  if ('putOffMs' in entry) {
    // It expires in time, too.
    const putOffMs = Math.min(entry.putOffMs, Math.max(0, expiresAt - context.now()));
    return { outcome: undefined, putOffMs };
  }
  const hits = await context.doNotSend.suppressed(notice.contacts);
  const suppressed = hits?.size ?? 0;
  if (hits === undefined || suppressed === notice.contacts.length) {
    await leaveUnsent(gateJob, entry, context);
    if (hits === undefined) {
      await pause(REDIS_AGAIN_MS);
      return { outcome: undefined };
    }
    // The intent tells of an earlier run that may have sent it.
    const isDecided = isOnce && !(await beginIntent(intent, context));
    return record({ outcome: isDecided ? undefined : { kind: 'suppressed' } });
  }
  const sent =
    suppressed === 0
      ? notice
      : { ...notice, contacts: notice.contacts.filter((_, index) => !hits.has(index)) };
  if (suppressed > 0) {
    intent.suppressed = suppressed;
    const facts = { contacts: suppressed, possiblySent: intent.possiblySent };
    context.log.begin(job).end({ kind: 'suppressed' }, undefined, facts);
  }
  const attempted = await runAttempt(
    {
      job: gateJob,
      send: (tokens, options) => context.service.send(sent, tokens, options),
      isOnce,
      mayBegin,
      recordIntent: intentRecorder(intent, context),
    },
    entry,
    context,
  );
  return { ...(await record(attempted)), probe: isProbe(entry) };
}

/** Ends the run by the outcome; the history of the job keeps an attempt that ended unknown and is followed by others. */
async function endRun(
  job: Job,
  intent: NoticeIntent,
  { outcome, answer }: Attempted & { readonly outcome: Outcome },
  context: NoticeContext,
): Promise<JobResult> {
  const { histories, log } = context;
  const { possiblySent, traceIds, unknownAttempts, before, data, suppressed } = intent;
  const end = endOf(outcome, data.delivery !== undefined, intent.lastAttempt);
  if (end !== undefined) {
    return endNotice(job, entryOf(job, intent, end, outcome, answer), context);
  }
  if (outcome.kind === 'accepted') {
    const { confirmed } = outcome;
    const sends = before.possiblySent + possiblySent;
    const ids = () => newestTraceIds([...(before.traceIds ?? []), ...traceIds]);
    return {
      outcome: 'accepted',
      confirmed,
      ...(sends === 0 ? {} : { possiblySent: sends, traceIds: ids(), unknownAttempts }),
      ...(suppressed === 0 ? {} : { suppressed }),
    };
  }
  if (outcome.kind === 'unknown') {
    const traceId = answer?.traceId === undefined ? {} : { traceId: answer.traceId };
    const attempt = { run: intent.lockToken, code: outcome.code, ...traceId };
    await settleWithRetry(
      () => histories.noteUnknown(intent.job, attempt),
      (error) => log.trouble('history', error),
    ).catch(() => {});
  }
  return tryAgain(job, outcome, answer, possiblySent + 1);
}

/** Ends a job that no worker can read: rejected, or unknown where an earlier run may have sent it. */
async function endUnreadable(
  job: Job,
  error: unknown,
  earlier: PossibleSends,
  context: NoticeContext,
): Promise<JobResult> {
  const { id = '' } = job;
  const { log, ends, histories } = context;
  const line = log.begin(job);
  const { code, message } =
    error instanceof NoticeQueueError ? error : { code: 'JOB_INVALID', message: '' };
  const { delivery } = (job.data ?? {}) as Readonly<Record<string, unknown>>;
  const entry = await settleWithRetry(
    async () => {
      const sends =
        delivery === 'at-most-once'
          ? // Its intent tells whether it may have been sent.
            { possiblySent: (await histories.hasOpenIntent(id)) ? 1 : 0, traceIds: [] }
          : earlier;
      return unreadableEntry(job, code, message, sends, await ends.textOf(id));
    },
    (failure) => log.trouble('history', failure),
    (failure) => !isProgramError(failure),
  );
  const { possiblySent } = entry;
  const outcome: Outcome = possiblySent > 0 ? unknownEarlier(code) : { kind: 'rejected', code };
  line.end(outcome, undefined, { possiblySent });
  return endNotice(job, entry, context);
}

/**
 * The outcome of an attempt that an error in this program ended: it may have been sent. The next run of an
 * at-most-once notice finds its intent and decides; where none follows, the intent decides here.
 */
async function afterProgramError(
  { job, data: { delivery }, lastAttempt }: NoticeIntent,
  { histories }: NoticeContext,
): Promise<NoticeEnd> {
  const code = 'INTERNAL_ERROR';
  const isUnknown =
    delivery === undefined ||
    (lastAttempt && (await histories.hasOpenIntent(job).catch(() => true)));
  return {
    outcome: isUnknown ? { kind: 'unknown', code } : { kind: 'retry', code, counted: true },
  };
}

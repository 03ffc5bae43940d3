import type { Job } from 'bullmq';
import { settleWithRetry } from '../../src/async/repeat.ts';
import { isEarlier, SET_ASIDE_FIELD, type JobData } from '../../src/contracts/job.ts';
import type { Outcome } from '../../src/contracts/outcome.ts';
import type { PossibleSends } from '../../src/contracts/outcome.ts';
import { recordEnd, type EndingRun, type RecordedEnd } from '../../src/notices/end-scripts.ts';
import { readEnded, type EndedEntry } from '../../src/notices/ended.ts';
import { settleAgain } from '../../src/notices/send-again.ts';
import { readFrame, type StoredJobData } from '../../src/payload/sealed-job.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import type { Keys } from '../../src/redis/keys.ts';
import type { SendAnswer } from '../../src/service/send-call.ts';
import type { AttemptLog } from './attempt-log.ts';
import { detailOf, requeue, type JobResult, type LockedJob } from './disposition.ts';
import type { NoticeIntent } from './notice-intent.ts';

/** Where the ends of notices that were not accepted are recorded. */
export class NoticeEnds {
  readonly #redis: RedisClient;
  readonly #keys: Keys;
  readonly #events: number;

  /** @param events NOTICE_EVENTS */
  constructor(redis: RedisClient, keys: Keys, events: number) {
    this.#redis = redis;
    this.#keys = keys;
    this.#events = events;
  }

  record(run: EndingRun, entry: Omit<EndedEntry, 'at'>): Promise<RecordedEnd> {
    return recordEnd(this.#redis, this.#keys, run, entry, this.#events);
  }

  /** Whether an earlier run of a job has recorded the end of its notice, before it died. */
  async has(id: string): Promise<boolean> {
    return (await readEnded(this.#redis, this.#keys, [id])).length > 0;
  }

  /** Removes the end before a notice was sent again, where the process that did it died before it could. */
  async taken(id: string): Promise<void> {
    await settleAgain(this.#redis, this.#keys, 0, [id]);
  }

  /** The data of a job that no worker can read, as text: what was set aside, if anything. */
  async textOf(id: string): Promise<string> {
    const key = this.#keys.noticeJob(id);
    const [setAside, data] = await this.#redis.hmget(key, SET_ASIDE_FIELD, 'data');
    return setAside ?? data ?? '';
  }
}

/** The state in which a notice ends, and why. */
export type NoticeEndState = Pick<EndedEntry, 'state' | 'code'>;

/**
 * How a notice ends with this outcome; undefined where it is accepted or tried again.
 *
 * | outcome | state |
 * |---|---|
 * | rejected; retry that is counted, with no attempts left | rejected |
 * | unknown, at-most-once, final, or with no attempts left | unknown |
 * | expired, cancelled | the same |
 */
export function endOf(
  outcome: Outcome | undefined,
  isOnce: boolean,
  lastAttempt: boolean,
): NoticeEndState | undefined {
  switch (outcome?.kind) {
    case 'rejected':
      return { state: 'rejected', code: outcome.code };
    case 'retry':
      return outcome.counted && lastAttempt ? { state: 'rejected', code: outcome.code } : undefined;
    case 'unknown':
      return isOnce || lastAttempt || outcome.final === true
        ? { state: 'unknown', code: outcome.code }
        : undefined;
    case 'expired':
      return { state: 'expired', code: 'EXPIRED' };
    case 'cancelled':
      return { state: 'cancelled', code: '' };
    case undefined:
    case 'accepted':
    case 'hold':
      return undefined;
  }
}

/** What is known at the end of a notice. */
export interface EndFacts {
  readonly end: NoticeEndState;
  readonly outcome: Outcome;
  readonly answer?: SendAnswer | undefined;
  /** Of its job. */
  readonly data: StoredJobData;
}

/** The entry of a notice that a worker could read. */
export function entryOf(
  { job }: LockedJob,
  intent: NoticeIntent,
  { end, outcome, answer, data }: EndFacts,
): Omit<EndedEntry, 'at'> {
  const { notice, delivery, expiresAt, earlier } = intent.data;
  const { possiblySent, before } = intent;
  const isOwn = outcome.kind === 'unknown' && outcome.earlier !== true;
  const own = isOwn && answer?.traceId !== undefined ? [answer.traceId] : [];
  const traceIds = [...(before.traceIds ?? []), ...intent.traceIds, ...own];
  const isUnknown = end.state === 'unknown';
  const sum = before.possiblySent + possiblySent + (isOwn ? 1 : 0);
  const stage = answer?.stage === 'sent' || answer?.stage === 'answered' ? answer.stage : 'started';
  return {
    ...end,
    ...messageOf(detailOf(answer)),
    template: notice.templateCode,
    contacts: notice.contacts.length,
    attempts: job.attemptsMade + (end.state === 'expired' ? 0 : 1),
    possiblySent: isUnknown ? Math.max(1, sum) : 0,
    ...(isUnknown ? { traceIds, stage } : {}),
    ...(delivery === undefined ? {} : { delivery }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...timesOf(job),
    ...keyOf(job, earlier?.key),
    data: JSON.stringify(data),
  };
}

/** The entry of a notice that no worker can read, of which an earlier run may have sent it. */
export function unreadableEntry(
  { job }: LockedJob,
  code: string,
  message: string,
  sends: PossibleSends,
  text: string,
): Omit<EndedEntry, 'at'> {
  const { delivery, earlier } = (job.data ?? {}) as Partial<JobData>;
  const before = isEarlier(earlier) ? earlier : undefined;
  const possiblySent = sends.possiblySent + (before?.possiblySent ?? 0);
  const traceIds = [...(before?.traceIds ?? []), ...sends.traceIds];
  const stage = traceIds.length > 0 ? 'answered' : 'started';
  return {
    state: possiblySent > 0 ? 'unknown' : 'rejected',
    code,
    ...messageOf(message),
    ...frameOf(job.data),
    attempts: job.attemptsMade + 1,
    possiblySent,
    ...(possiblySent > 0 ? { traceIds, stage } : {}),
    ...(delivery === 'at-most-once' ? { delivery } : {}),
    ...timesOf(job),
    ...keyOf(job, before?.key),
    data: text,
  };
}

const messageOf = (message: string) => (message === '' ? {} : { message });

const timesOf = ({ timestamp, processedOn, priority }: Job) => ({
  ...(Number.isFinite(timestamp) ? { enqueuedAt: timestamp } : {}),
  ...(processedOn === undefined ? {} : { startedAt: processedOn }),
  ...(priority > 0 ? { priority } : {}),
});

/** Without an idempotency key a job has its own id in the place of one. */
function keyOf({ id, deduplicationId }: Job, earlier: string | undefined) {
  const key = deduplicationId === undefined || deduplicationId === id ? earlier : deduplicationId;
  return key === undefined ? {} : { key };
}

function frameOf(data: unknown): Pick<EndedEntry, 'template' | 'contacts'> {
  try {
    const { templateCode: template, contacts } = readFrame(data);
    return { template, contacts };
  } catch {
    const { notice } = (data ?? {}) as { readonly notice?: unknown };
    const { templateCode, contacts } = (notice ?? {}) as Readonly<Record<string, unknown>>;
    return {
      template: typeof templateCode === 'string' ? templateCode : '',
      contacts: typeof contacts === 'number' && contacts > 0 ? contacts : 0,
    };
  }
}

/** Records the end of a notice, repeated until Redis has it, and gives the result with which its job is completed. */
export async function endNotice(
  { job, lockToken = '' }: LockedJob,
  entry: Omit<EndedEntry, 'at'>,
  { ends, log }: { readonly ends: NoticeEnds; readonly log: AttemptLog },
): Promise<JobResult> {
  const { id = '', attemptsStarted: started, timestamp: addedAt } = job;
  const recorded = await settleWithRetry(
    () => ends.record({ id, lockToken, started, addedAt }, entry),
    (error) => log.trouble('end', error),
  );
  // The run that has the job now counts this one as possibly sent.
  if (recorded === 'lost') return requeue();
  return { outcome: recorded === 'accepted' ? 'accepted' : entry.state, confirmed: true };
}

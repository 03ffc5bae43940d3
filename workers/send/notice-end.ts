import type { Job } from 'bullmq';
import { settleWithRetry } from '../../src/async/repeat.ts';
import { isEarlier, SET_ASIDE_FIELD, type EarlierRuns } from '../../src/contracts/job.ts';
import type { Outcome, PossibleSends } from '../../src/contracts/outcome.ts';
import { recordEnd, type EndingRun, type RecordedEnd } from '../../src/notices/end-scripts.ts';
import { readEnded, type EndedEntry } from '../../src/notices/ended.ts';
import { sendAgain, settleAgain, withNotices } from '../../src/notices/send-again.ts';
import { frameOf } from '../../src/payload/sealed-job.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import type { Keys } from '../../src/redis/keys.ts';
import type { SendAnswer } from '../../src/service/send-call.ts';
import type { AttemptLog } from './attempt-log.ts';
import { detailOf, requeue, type EndState, type JobResult } from './disposition.ts';
import { untilDone } from './template-refusals.ts';
import { contactsSent, type NoticeIntent } from './notice-intent.ts';

/** An entry before Redis gives it its time. */
type NewEntry = Omit<EndedEntry, 'at'>;

/** Where the ends of notices that were not accepted are recorded. */
export class NoticeEnds {
  readonly #redis: RedisClient;
  readonly #keys: Keys;
  readonly #events: number;

  constructor(redis: RedisClient, keys: Keys, events: number) {
    this.#redis = redis;
    this.#keys = keys;
    this.#events = events;
  }

  record(run: EndingRun, entry: NewEntry): Promise<RecordedEnd> {
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

  /** Puts a notice back to waiting that was rejected a moment ago: its template is held. */
  takeBack(id: string): Promise<void> {
    return withNotices(this.#redis, this.#keys, (queue) =>
      untilDone(async () => {
        const [entry] = await readEnded(this.#redis, this.#keys, [id]);
        // Its end may not be recorded yet, or its job not be gone.
        if (entry === undefined) return false;
        return entry.state !== 'rejected' || sendAgain(this.#redis, this.#keys, queue, entry);
      }),
    );
  }

  /** The data of a job that no worker can read, as text: what was set aside, if anything. */
  async textOf(id: string): Promise<string> {
    const key = this.#keys.noticeJob(id);
    const [setAside, data] = await this.#redis.hmget(key, SET_ASIDE_FIELD, 'data');
    return setAside ?? data ?? '';
  }
}

const isUnsent = ({ state }: EndState) => state === 'expired' || state === 'suppressed';

/** What is kept of the attempts before the last one. */
const unknownAttemptsOf = ({ unknownAttempts = [] }: Partial<PossibleSends>) =>
  unknownAttempts.length === 0 ? {} : { unknownAttempts: [...unknownAttempts] };

export function entryOf(
  job: Job,
  intent: NoticeIntent,
  end: EndState,
  outcome: Outcome,
  answer: SendAnswer | undefined,
): NewEntry {
  const { data, before, suppressed, ...run } = intent;
  const { notice, delivery, expiresAt, earlier } = data;
  const isOwn = outcome.kind === 'unknown' && outcome.earlier !== true;
  const own = isOwn && answer?.traceId !== undefined ? [answer.traceId] : [];
  const possiblySent = before.possiblySent + run.possiblySent + (isOwn ? 1 : 0);
  const stage = answer?.stage === 'sent' || answer?.stage === 'answered' ? answer.stage : 'started';
  return {
    ...end,
    template: notice.templateCode,
    contacts: contactsSent(intent),
    ...(suppressed === 0 ? {} : { suppressed }),
    attempts: job.attemptsMade + (isUnsent(end) ? 0 : 1),
    ...(end.state === 'unknown'
      ? {
          possiblySent: Math.max(1, possiblySent),
          traceIds: [...(before.traceIds ?? []), ...run.traceIds, ...own],
          stage,
        }
      : end.state === 'suppressed'
        ? { possiblySent, traceIds: [...(before.traceIds ?? []), ...run.traceIds] }
        : { possiblySent: 0 }),
    ...unknownAttemptsOf(run),
    ...(delivery === undefined ? {} : { delivery }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    ...factsOf(job, detailOf(answer), earlier),
    data: JSON.stringify(job.data),
  };
}

/** The entry of a notice that no worker can read, of which an earlier run may have sent it. @param text of its data */
export function unreadableEntry(
  job: Job,
  code: string,
  message: string,
  sends: PossibleSends,
  text: string,
): NewEntry {
  const { delivery, earlier } = (job.data ?? {}) as Readonly<Record<string, unknown>>;
  const before = isEarlier(earlier) ? earlier : undefined;
  const possiblySent = sends.possiblySent + (before?.possiblySent ?? 0);
  const traceIds = [...(before?.traceIds ?? []), ...sends.traceIds];
  return {
    code,
    ...frameOf(job.data),
    attempts: job.attemptsMade + 1,
    possiblySent,
    ...(possiblySent > 0
      ? { state: 'unknown', traceIds, stage: traceIds.length > 0 ? 'answered' : 'started' }
      : { state: 'rejected' }),
    ...unknownAttemptsOf(sends),
    ...(delivery === 'at-most-once' ? { delivery } : {}),
    ...factsOf(job, message, before),
    data: text,
  };
}

function factsOf(job: Job, message: string, earlier: EarlierRuns | undefined): Partial<NewEntry> {
  const { id, timestamp, processedOn, priority, deduplicationId } = job;
  // Without an idempotency key a job has its own id in the place of one.
  const key =
    deduplicationId === undefined || deduplicationId === id ? earlier?.key : deduplicationId;
  return {
    ...(message === '' ? {} : { message }),
    ...(Number.isFinite(timestamp) ? { enqueuedAt: timestamp } : {}),
    ...(processedOn === undefined ? {} : { startedAt: processedOn }),
    ...(priority > 0 ? { priority } : {}),
    ...(key === undefined ? {} : { key }),
  };
}

/** Records the end of a notice, repeated until Redis has it, and gives the result with which its job is completed. */
export async function endNotice(
  job: Job,
  entry: NewEntry,
  { ends, log }: { readonly ends: NoticeEnds; readonly log: AttemptLog },
): Promise<JobResult> {
  const { id = '', token: lockToken = '', attemptsStarted: started, timestamp: addedAt } = job;
  const recorded = await settleWithRetry(
    () => ends.record({ id, lockToken, started, addedAt }, entry),
    (error) => log.trouble('end', error),
  );
  // The run that has the job now counts this one as possibly sent.
  if (recorded === 'lost') return requeue();
  return { outcome: recorded === 'accepted' ? 'accepted' : entry.state, confirmed: true };
}

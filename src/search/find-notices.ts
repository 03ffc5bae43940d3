import type { Job } from 'bullmq';
import type { FoundState } from './find-in-batches.ts';
import type { JobData } from '../contracts/job.ts';
import { findEntries, type FindEntry } from '../number-index/notice-number-index.ts';
import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import { QUEUE_NAME, type Keys } from '../redis/keys.ts';
import { openBullQueue } from '../redis/open-queue.ts';
import { readAudit, type KeptAudit } from '../ops/audit.ts';
import { readUnknown } from '../ops/unknown.ts';

/** A single notice that has the number. */
export interface FoundNotice {
  /** Id of its job. */
  readonly job: string;
  /** Absent where the job is no longer kept. */
  readonly template?: string;
  /** What became of it; several where it is one of these. */
  readonly states: readonly FoundState[];
  /** The job was read, or a person's decision on it. Else it is no longer kept. */
  readonly confirmed: boolean;
  /** When it was handed over, milliseconds since the epoch. */
  readonly at: number;
  readonly code?: string;
}

/** What is known of a found job. */
export interface JobFacts {
  /** BullMQ's word; undefined where the job is no longer kept. */
  readonly state: string | undefined;
  /** What the worker returned, of a job that is done. */
  readonly outcome?: unknown;
  /** It is listed as unknown. */
  readonly unknown: boolean;
  /** What a person decided on it, where that is still in the audit stream. */
  readonly decided?: 'accepted' | 'discard' | undefined;
  /** It had a deadline. */
  readonly expires: boolean;
  /** Its age is below KEEP_FAILED_MS: a job that failed would still be there. */
  readonly young: boolean;
}

/**
 * What became of a single notice, the first row that fits:
 *
 * | job | | states |
 * |---|---|---|
 * | done | | its outcome |
 * | failed | listed as unknown | unknown |
 * | failed | | rejected |
 * | any other that is there | | pending |
 * | gone | a person decided | accepted, or cancelled for discarded |
 * | gone | so young that a failed one would be there | accepted, or expired where it had a deadline |
 * | gone | | all but pending |
 */
export function statesOf(facts: JobFacts): readonly FoundState[] {
  const { state, outcome, unknown, decided, expires, young } = facts;
  if (state === 'completed') {
    return [outcome === 'expired' || outcome === 'cancelled' ? outcome : 'accepted'];
  }
  if (state === 'failed') return [unknown ? 'unknown' : 'rejected'];
  if (state !== undefined) return ['pending'];
  if (decided !== undefined) return [decided === 'accepted' ? 'accepted' : 'cancelled'];
  const late: FoundState[] = expires ? ['expired'] : [];
  if (young) return ['accepted', ...late];
  return ['accepted', 'rejected', 'unknown', ...late, 'cancelled'];
}

/** Notices that are looked at; a number with more of them shows the newest. */
const MOST = 200;

/** Decisions of people that are looked through for jobs that are gone. */
const DECISIONS = 10_000;

/**
 * The single notices in which a number stands, the newest first.
 *
 * @param keepMs FIND_RETENTION_MS and KEEP_FAILED_MS
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function findNotices(
  redis: RedisClient,
  keys: Keys,
  number: string,
  hash: Buffer,
  keepMs: { readonly find: number; readonly failed: number },
): Promise<FoundNotice[]> {
  const now = Date.now();
  const queue = openBullQueue(QUEUE_NAME, redis, keys);
  try {
    const entries = await findEntries(redis, keys, hash, keepMs.find, now);
    let decisions: readonly KeptAudit[] | undefined;
    const found: FoundNotice[] = [];
    for (const entry of entries.slice(0, MOST)) {
      const job = (await queue.getJob(entry.jobId)) as Job<JobData> | undefined;
      // Another number's hash may begin alike.
      if (job !== undefined && !hasNumber(job, number)) continue;
      if (job === undefined) decisions ??= await readAudit(redis, keys, DECISIONS);
      const [listed] = job === undefined ? [] : await readUnknown(redis, keys, [entry.jobId]);
      const decided = decisions?.find(
        ({ what, target }) => what === 'resolve' && target === entry.jobId,
      );
      const states = statesOf({
        state: await job?.getState(),
        outcome: (job?.returnvalue as { outcome?: unknown } | null | undefined)?.outcome,
        unknown: listed !== undefined,
        decided: decided?.as === 'accepted' || decided?.as === 'discard' ? decided.as : undefined,
        expires: entry.expires,
        young: now - entry.at < keepMs.failed,
      });
      found.push(foundNotice(entry, job, states, decided !== undefined));
    }
    return found;
  } catch (error) {
    throw redisFailure(error);
  } finally {
    await queue.close().catch(() => {});
  }
}

function foundNotice(
  { jobId, at }: FindEntry,
  job: Job<JobData> | undefined,
  states: readonly FoundState[],
  decided: boolean,
): FoundNotice {
  // A failure's reason is its code, and the service's words after a colon.
  const code = job?.failedReason?.split(':')[0];
  return {
    job: jobId,
    ...(job === undefined ? {} : { template: job.data.notice.templateCode }),
    states,
    confirmed: job !== undefined || decided,
    at,
    ...(code === undefined || code === '' ? {} : { code }),
  };
}

function hasNumber(job: Job<JobData>, number: string): boolean {
  const notice = job.data?.notice as { contacts?: unknown } | undefined;
  const contacts: unknown = notice?.contacts;
  return (
    Array.isArray(contacts) &&
    contacts.some((one: { contact?: unknown } | null) => one?.contact === number)
  );
}

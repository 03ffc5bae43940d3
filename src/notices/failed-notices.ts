import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import { readFailedScript } from './read-job.ts';
import type { NoticeView } from './notice-state.ts';
import { noticeView } from './look-up.ts';

/** States of failed notices. */
export const FAILED_NOTICE_STATES = ['rejected', 'unknown'] as const;

/** Selects failed notices; a field that is undefined matches all. */
export interface FailedFilter {
  readonly state?: (typeof FAILED_NOTICE_STATES)[number] | undefined;
  /** The service's code, or one of ours. */
  readonly code?: string | undefined;
  readonly template?: string | undefined;
  /** Whether the service may have accepted an attempt, in this run or an earlier one. */
  readonly possiblySent?: boolean | undefined;
  /** Only what ended before this time: milliseconds since the epoch. */
  readonly before?: number | undefined;
  /** Only what ended at this time or later. */
  readonly since?: number | undefined;
}

/** Ids per read: one command for each, for which Redis is busy about a millisecond. */
const PAGE = 500;

/**
 * Yields failed notices (each job is one), the newest first. What fails meanwhile is not among them.
 *
 * @param most how many are read at most, whether they match or not. Default: all
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function* failedNotices(
  redis: RedisClient,
  keys: Keys,
  filter: FailedFilter,
  most = Infinity,
): AsyncGenerator<NoticeView> {
  const { before = Infinity, since = 0 } = filter;
  // What is no number is refused by Redis: it may not select all.
  const newest = before === Infinity ? '+inf' : `(${before}`;
  try {
    const limit = Number.isFinite(most)
      ? (['LIMIT', 0, most] as const)
      : (['LIMIT', 0, -1] as const);
    const ids = await redis.zrevrangebyscore(keys.failedNotices, newest, since, ...limit);
    for (let from = 0; from < ids.length; from += PAGE) {
      for (const job of await readFailed(redis, keys, ids.slice(from, from + PAGE))) {
        if (matchesFailed(filter, job)) yield job;
      }
    }
  } catch (error) {
    throw redisFailure(error);
  }
}

/** Those of the ids that have failed, in their order. */
export async function readFailed(
  redis: RedisClient,
  keys: Keys,
  ids: readonly string[],
): Promise<NoticeView[]> {
  const places = [keys.failedNotices, keys.history, keys.intents.unknown];
  const jobs: NoticeView[] = [];
  for (let from = 0; from < ids.length; from += PAGE) {
    const some = ids.slice(from, from + PAGE);
    const read = await readFailedScript(redis, places, [keys.noticeJob(''), ...some]);
    jobs.push(...read.map((job) => noticeView(job)));
  }
  return jobs;
}

/** Whether a filter matches a failed notice; its times are not compared. */
export function matchesFailed(
  { state, code, template, possiblySent }: FailedFilter,
  job: NoticeView,
): boolean {
  return (
    (state === undefined || job.state === state) &&
    (code === undefined || job.code === code) &&
    (template === undefined || job.template === template) &&
    (possiblySent === undefined || job.possiblySent > 0 === possiblySent)
  );
}

/** Failed notices with the same state and code. */
export interface FailedGroup {
  readonly state: NoticeView['state'];
  readonly code: string;
  readonly notices: number;
  readonly contacts: number;
  /** The service's message for one of them, with phone numbers masked. */
  readonly message: string;
}

/** Groups failed notices by state and code, the largest group first. */
export function groupFailed(jobs: readonly NoticeView[]): FailedGroup[] {
  const groups = new Map<string, FailedGroup>();
  for (const { state, code = '', message = '', contacts } of jobs) {
    const name = `${state} ${code}`;
    const { notices, ...sum } = groups.get(name) ?? { notices: 0, contacts: 0, message };
    groups.set(name, {
      state,
      code,
      notices: notices + 1,
      contacts: sum.contacts + contacts,
      message: sum.message,
    });
  }
  return [...groups.values()].sort((a, b) => b.notices - a.notices);
}

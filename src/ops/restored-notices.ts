import { readJobData } from '../contracts/job.ts';
import type { RestoreEvent } from '../fleet/restore/epoch.ts';
import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';

/** A single notice that waits in an old copy of the queue. */
export interface RestoredNotice {
  /** Id of its job. */
  readonly id: string;
  readonly state: 'waiting' | 'delayed' | 'active';
  readonly template: string;
  readonly contacts: readonly Readonly<Record<string, unknown>>[];
  /** By the clock of whoever handed it over, milliseconds since the epoch. */
  readonly handedOverAt: number;
  /** The job's data, as it stands in Redis. */
  readonly data: string;
}

/** Clocks of producers may be so far off: rather a fresh notice too many than a double left out. */
const CLOCK_SLACK_MS = 120_000;

/** Jobs read at a time; each may hold a thousand contacts. */
const PAGE = 100;

/** BullMQ's score of a delayed job: its time, shifted to make room for a counter. */
const DELAYED_SHIFT = 4_096;

/**
 * The single notices that were handed over before Redis looked like an old copy, and wait in it:
 * whatever became of them after the copy was made is not known to it. One that was not due by then
 * cannot have been sent and is left out. Reads the queue once, page by page; what moves meanwhile may
 * come twice, so nothing should: the queue is held.
 *
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function* restoredNotices(
  redis: RedisClient,
  keys: Keys,
  event: Pick<RestoreEvent, 'at'>,
): AsyncGenerator<RestoredNotice> {
  const until = event.at + CLOCK_SLACK_MS;
  try {
    for (const [state, pages] of [
      ['active', pagesOfList(redis, keys.noticesIn('active'))],
      ['waiting', pagesOfList(redis, keys.noticesIn('wait'))],
      ['waiting', pagesOfSet(redis, keys.noticesIn('prioritized'), '+inf')],
      ['delayed', pagesOfSet(redis, keys.noticesIn('delayed'), `${until * DELAYED_SHIFT}`)],
    ] as const) {
      for await (const ids of pages) {
        for (const notice of await readNotices(redis, keys, ids, state)) {
          if (notice.handedOverAt <= until) yield notice;
        }
      }
    }
  } catch (error) {
    throw redisFailure(error);
  }
}

/** From the end that is taken from: what comes in meanwhile comes in at the other. */
async function* pagesOfList(redis: RedisClient, key: string): AsyncGenerator<string[]> {
  for (let taken = 0; ; taken += PAGE) {
    const ids = await redis.lrange(key, -(taken + PAGE), -(taken + 1));
    if (ids.length === 0) return;
    yield ids.reverse();
  }
}

/** By score, so that what comes in before the place that is read moves nothing. */
async function* pagesOfSet(
  redis: RedisClient,
  key: string,
  most: string,
): AsyncGenerator<string[]> {
  let [from, seen] = ['-inf', 0];
  for (;;) {
    const flat = await redis.zrangebyscore(key, from, most, 'WITHSCORES', 'LIMIT', seen, PAGE);
    if (flat.length === 0) return;
    const last = flat.at(-1) ?? from;
    const ties = flat.filter((score, index) => index % 2 === 1 && score === last).length;
    seen = last === from ? seen + ties : ties;
    from = last;
    yield flat.filter((_, index) => index % 2 === 0);
  }
}

async function readNotices(
  redis: RedisClient,
  keys: Keys,
  ids: readonly string[],
  state: RestoredNotice['state'],
): Promise<RestoredNotice[]> {
  const pipeline = redis.pipeline();
  for (const id of ids) pipeline.hmget(keys.noticeJob(id), 'data', 'timestamp');
  const replies = (await pipeline.exec()) ?? [];
  return replies.flatMap(([error, reply], index) => {
    if (error !== null) throw error;
    const [data, timestamp] = reply as (string | null)[];
    const id = ids[index];
    if (data === null || data === undefined || id === undefined) return [];
    return [{ id, state, handedOverAt: Number(timestamp), data, ...contentOf(data) }];
  });
}

/** A job that no worker could read is not sent either. */
function contentOf(data: string): Pick<RestoredNotice, 'template' | 'contacts'> {
  try {
    const { notice } = readJobData(JSON.parse(data));
    return { template: notice.templateCode, contacts: notice.contacts };
  } catch {
    return { template: '', contacts: [] };
  }
}

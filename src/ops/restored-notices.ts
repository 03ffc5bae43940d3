import { readEpoch } from '../fleet/restore/epoch-store.ts';
import { parkRestoredNotice } from '../fleet/restore/park-restored.ts';
import type { RestoreEvent } from '../fleet/restore/epoch.ts';
import { readFrame } from '../payload/sealed-job.ts';
import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import { appendAudit, type Actor } from './audit.ts';

/** A single notice that waits in a restored (older) copy of the queue. */
export interface RestoredNotice {
  /** Id of its job. */
  readonly id: string;
  readonly state: 'waiting' | 'delayed' | 'active';
  readonly template: string;
  readonly contacts: number;
  /** When it was enqueued, by the producer's clock: milliseconds since the epoch. */
  readonly enqueuedAt: number;
  /** The job's data as it is stored in Redis. */
  readonly data: string;
}

/** @returns when Redis was last found to be an older copy; undefined where it never was */
export async function lastRestoreEvent(
  redis: RedisClient,
  keys: Keys,
): Promise<RestoreEvent | undefined> {
  return (await readEpoch(redis, keys)).epoch?.event;
}

/** Allowance for producers' clocks: listing a newer notice is better than missing one that was sent. */
const CLOCK_SLACK_MS = 120_000;

/** Jobs per read; each may hold a thousand contacts. */
const PAGE = 100;

/** BullMQ's score of a delayed job: its time, shifted to make room for a counter. */
const DELAYED_SHIFT = 4_096;

/**
 * Yields the single notices that were enqueued before Redis was found to be an older copy and that
 * wait in it: they may have been sent after the copy was made. A notice that was not due by then cannot
 * have been sent and is left out. Reads the queue once, page by page. Call it while the queue is held:
 * a job that moves between states during the read may be yielded twice.
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
          if (notice.enqueuedAt <= until) yield notice;
        }
      }
    }
  } catch (error) {
    throw redisFailure(error);
  }
}

/** Starts at the end that workers take from: new jobs are added at the other end. */
async function* pagesOfList(redis: RedisClient, key: string): AsyncGenerator<string[]> {
  for (let taken = 0; ; taken += PAGE) {
    const ids = await redis.lrange(key, -(taken + PAGE), -(taken + 1));
    if (ids.length === 0) return;
    yield ids.reverse();
  }
}

/** Pages by score, so that jobs added before the current position do not shift it. */
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
    return [{ id, state, enqueuedAt: Number(timestamp), data, ...contentOf(data) }];
  });
}

/** A job that no worker can read is never sent: it has no contacts here. */
function contentOf(data: string): Pick<RestoredNotice, 'template' | 'contacts'> {
  try {
    const { templateCode, contacts } = readFrame(JSON.parse(data));
    return { template: templateCode, contacts };
  } catch {
    return { template: '', contacts: 0 };
  }
}

/** Result of parking. */
export interface ParkReport {
  readonly jobs: number;
  readonly contacts: number;
  /** The queue is not held for an older copy (any more): notices that are not parked will be sent. */
  readonly notHeld: boolean;
  /** It was stopped by its signal; run it again for the rest. */
  readonly stopped: boolean;
}

/**
 * Parks the single notices of an older copy while the queue is held for it: once the hold is lifted,
 * workers do not send them but list them as unknown, for a person to resolve. Safe to repeat. Batches
 * are not changed: pause or cancel them instead.
 *
 * @param actor recorded in the audit stream
 * @param signal stops it between two notices
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED; notices parked before stay parked
 */
export async function parkRestored(
  { redis, keys }: { readonly redis: RedisClient; readonly keys: Keys },
  actor: Actor,
  signal?: AbortSignal,
): Promise<ParkReport> {
  const sum = { jobs: 0, contacts: 0, notHeld: false, stopped: false };
  const event = await lastRestoreEvent(redis, keys);
  if (event === undefined) return { ...sum, notHeld: true };
  try {
    for await (const notice of restoredNotices(redis, keys, event)) {
      if (signal?.aborted === true) return { ...sum, stopped: true };
      if (notice.contacts === 0) continue;
      const result = await parkRestoredNotice(redis, keys, notice);
      if (result === 'not-held') return { ...sum, notHeld: true };
      if (result === 'changed') continue;
      sum.jobs += 1;
      sum.contacts += notice.contacts;
    }
    return sum;
  } finally {
    if (sum.jobs > 0) {
      const { contacts } = sum;
      const what = { what: 'park', target: 'restored notices', as: 'unknown' } as const;
      await appendAudit(redis, keys, { ...actor, ...what, contacts });
    }
  }
}

import { z } from 'zod';
import { END_STATES } from '../contracts/outcome.ts';
import type { CancelSignal } from '../contracts/token.ts';
import { frameOf } from '../payload/sealed-job.ts';
import type { RedisClient } from '../redis/connect.ts';
import { redisFailure, translated } from '../redis/failure.ts';
import type { Keys, NoticeList } from '../redis/keys.ts';
import { storedJson } from '../redis/stored-json.ts';
import { endedIds } from './ended.ts';

/** Where notices wait: for a worker, or for their time or their next attempt. */
export const WAITING_STATES = ['waiting', 'delayed'] as const;

/** Selects notices that wait; a field that is undefined matches all. Times are milliseconds since the epoch. */
export interface WaitingFilter {
  readonly state?: (typeof WAITING_STATES)[number] | undefined;
  readonly template?: string | undefined;
  /** Queued then or later, and queued before. */
  readonly since?: number | undefined;
  readonly before?: number | undefined;
  /** Whatever else it has to be, such as to contain a number. */
  readonly also?: ((notice: WaitingNotice) => boolean) | undefined;
  /** Of those that wait for their time only what is due before. */
  readonly dueBefore?: number | undefined;
  /** Also those that a worker has, or had in an old copy of Redis. */
  readonly withActive?: boolean | undefined;
}

export interface WaitingNotice {
  readonly id: string;
  readonly state: (typeof WAITING_STATES)[number];
  /** Empty where its data cannot be read. */
  readonly template: string;
  readonly contacts: number;
  /** When it was queued, by the clock of its producer. */
  readonly queuedAt: number;
  /** The data of its job, as it is stored. */
  readonly data: string;
}

/** BullMQ's score of a delayed job: its time, shifted to make room for a counter. */
export const DELAYED_SHIFT = 4_096;

const IDS = 5_000;

/** Jobs of a page, which are read at a time. */
export const WAITING_PAGE = 200;

/**
 * Yields the notices that wait and match, in pages: of each place the newest, or those that are due last, first.
 * What is queued meanwhile may be among them.
 * @param signal ends it between two pages
 * @param most how many are read at most, whether they match or not. Default: all
 */
export async function* waitingNotices(
  redis: RedisClient,
  keys: Keys,
  filter: WaitingFilter,
  signal?: AbortSignal,
  most = Infinity,
): AsyncGenerator<readonly WaitingNotice[]> {
  // A job moves from here to below only, so that none is missed; those that are active may also move back.
  const active = filter.withActive === true ? (['active'] as const) : [];
  const waiting = ['delayed', 'prioritized', 'wait', 'paused'] as const;
  const places = [...active, ...waiting, ...active].filter(
    (place) => filter.state === undefined || filter.state === stateIn(place),
  );
  const range = { most, dueBefore: filter.dueBefore };
  try {
    for await (const { place, ids } of idPages(redis, keys, places, signal, range)) {
      const state = stateIn(place);
      const jobs = await Promise.all(ids.map((id) => readWaiting(redis, keys, id, state)));
      yield jobs.flatMap((job) => (job !== undefined && matches(filter, job) ? [job] : []));
    }
  } catch (error) {
    throw redisFailure(error);
  }
}

export type NoticePlace = NoticeList | 'ended';

const stateIn = (place: NoticePlace) => (place === 'delayed' ? 'delayed' : 'waiting');

/**
 * Yields the ids of notices, each once, place after place. `ended`: the records of those that were not accepted.
 * @param range how many are read at most, and when delayed ones are due
 */
export async function* idPages(
  redis: RedisClient,
  keys: Keys,
  places: readonly NoticePlace[],
  signal?: CancelSignal,
  { most = Infinity, dueBefore }: { most?: number; dueBefore?: number | undefined } = {},
): AsyncGenerator<{ readonly place: NoticePlace; readonly ids: readonly string[] }> {
  const seen = new Set<string>();
  for (const place of places) {
    const found = await (place === 'ended'
      ? endedIds(redis, keys, END_STATES)
      : idsIn(redis, keys, place, most - seen.size, dueBefore));
    const ids = found.filter((id) => !seen.has(id));
    for (const id of ids) seen.add(id);
    for (let from = 0; from < ids.length; from += WAITING_PAGE) {
      if (signal?.aborted === true) return;
      yield { place, ids: ids.slice(from, from + WAITING_PAGE) };
    }
  }
}

/** The ids of a place, from the end where no worker takes them: they keep their order while they are read. */
async function idsIn(
  redis: RedisClient,
  keys: Keys,
  place: NoticeList,
  most: number,
  dueBefore = Infinity,
): Promise<string[]> {
  const key = keys.noticesIn(place);
  const isList = place === 'wait' || place === 'paused' || place === 'active';
  const due = place === 'delayed' && dueBefore < Infinity ? dueBefore * DELAYED_SHIFT : '+inf';
  const ids = new Set<string>();
  for (let from = 0; from < most; from += IDS) {
    const last = Math.min(from + IDS, most) - 1;
    const page = isList
      ? await redis.lrange(key, from, last)
      : await redis.zrevrangebyscore(key, due, '-inf', 'LIMIT', from, last - from + 1);
    for (const id of page) ids.add(id);
    if (page.length < IDS) break;
  }
  return [...ids];
}

async function readWaiting(
  redis: RedisClient,
  keys: Keys,
  id: string,
  state: WaitingNotice['state'],
): Promise<WaitingNotice | undefined> {
  const [data, timestamp] = await redis.hmget(keys.noticeJob(id), 'data', 'timestamp');
  if (data === null || data === undefined) return undefined;
  return {
    id,
    state,
    queuedAt: Number(timestamp ?? 0),
    data,
    ...frameOf(storedJson(z.unknown(), data)),
  };
}

function matches(
  { template, since = 0, before = Infinity, also }: WaitingFilter,
  notice: WaitingNotice,
): boolean {
  return (
    (template === undefined || notice.template === template) &&
    notice.queuedAt >= since &&
    notice.queuedAt < before &&
    also?.(notice) !== false
  );
}

/** Notices that wait with the same template and state. */
export interface WaitingGroup extends Pick<WaitingNotice, 'state' | 'template' | 'contacts'> {
  readonly notices: number;
  readonly oldest: number;
  readonly newest: number;
}

/** How many single notices wait. @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED */
export async function countWaiting(redis: RedisClient, keys: Keys): Promise<number> {
  const counts = Promise.all([
    ...(['delayed', 'prioritized'] as const).map((place) => redis.zcard(keys.noticesIn(place))),
    ...(['wait', 'paused'] as const).map((place) => redis.llen(keys.noticesIn(place))),
  ]);
  return (await translated(counts)).reduce((sum, one) => sum + one, 0);
}

/** Sums up what waits and matches, the largest group first. */
export async function groupWaiting(
  redis: RedisClient,
  keys: Keys,
  filter: WaitingFilter,
  signal?: AbortSignal,
  most?: number,
): Promise<WaitingGroup[]> {
  const groups = new Map<string, WaitingGroup>();
  for await (const page of waitingNotices(redis, keys, filter, signal, most)) {
    for (const { state, template, contacts, queuedAt } of page) {
      const name = `${state} ${template}`;
      const sum = groups.get(name);
      groups.set(name, {
        state,
        template,
        notices: (sum?.notices ?? 0) + 1,
        contacts: (sum?.contacts ?? 0) + contacts,
        oldest: Math.min(sum?.oldest ?? Infinity, queuedAt),
        newest: Math.max(sum?.newest ?? 0, queuedAt),
      });
    }
  }
  return [...groups.values()].sort((a, b) => b.notices - a.notices);
}

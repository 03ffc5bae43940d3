import { LANES, type LaneName, type SeenAttempt } from '../contracts/outcome.ts';
import type { RedisClient } from '../redis/connect.ts';
import { translated } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import { redisTime } from '../redis/server-clock.ts';

/**
 * What is counted for each minute and lane: requests written to a socket, and contacts that were accepted. What else
 * became of contacts is not known after an attempt: their chunk may be halved, or their template held.
 */
export const TRAFFIC_COUNTS = ['requests', 'accepted'] as const;

export type TrafficCount = (typeof TRAFFIC_COUNTS)[number];
export type LaneCounts = Record<TrafficCount, number>;
export type TrafficCounts = Record<LaneName, LaneCounts>;

/** The counts of a minute that begins at a time: Redis time, milliseconds since the epoch. */
export interface TrafficMinute extends Readonly<TrafficCounts> {
  readonly at: number;
}

export interface Traffic {
  /** Redis time, milliseconds since the epoch. */
  readonly at: number;
  /** The last three hours, oldest first; the last minute is not over yet. */
  readonly minutes: readonly TrafficMinute[];
  readonly total: Readonly<TrafficCounts>;
}

/** How many minutes the record goes back. */
const TRAFFIC_MINUTES = 180;

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const KEPT_MS = TRAFFIC_MINUTES * MINUTE_MS + HOUR_MS;

export function noTraffic(): TrafficCounts {
  const none = () => ({ requests: 0, accepted: 0 });
  return { notices: none(), chunks: none() };
}

/**
 * What a worker process counted since it last wrote to the record. Counts that were not written are lost with the
 * process; what Redis refused is written the next time, and counts for that time.
 */
export class TrafficTally {
  #counts = noTraffic();
  #recent = { requests: 0, contacts: 0, since: performance.now() };
  #before = { requests: 0, contacts: 0, since: this.#recent.since };

  /** Counts one attempt. */
  attempt({ lane, outcome, requests, contacts }: SeenAttempt): void {
    const accepted = outcome === 'accepted' ? contacts : 0;
    this.#counts[lane].requests += requests;
    this.#counts[lane].accepted += accepted;
    this.#recent.requests += requests;
    this.#recent.contacts += accepted;
  }

  /** What was sent since it was asked last but one: requests, and contacts that were accepted. */
  takeRecent(): { requests: number; contacts: number; forMs: number } {
    const before = this.#before;
    const now = performance.now();
    this.#before = this.#recent;
    this.#recent = { requests: 0, contacts: 0, since: now };
    return {
      requests: before.requests + this.#before.requests,
      contacts: before.contacts + this.#before.contacts,
      forMs: Math.round(now - before.since),
    };
  }

  /**
   * Adds the counts to those of the present minute with one transaction; does nothing without counts.
   *
   * @param at Redis time, milliseconds since the epoch
   * @throws the error of the Redis client; the counts are then kept for the next write
   */
  async write(redis: RedisClient, keys: Keys, at: number): Promise<void> {
    const taken = this.#counts;
    this.#counts = noTraffic();
    const key = keys.traffic(Math.floor(at / HOUR_MS));
    const minute = Math.floor(at / MINUTE_MS) % 60;
    const commands = redis.multi();
    let any = false;
    forEachCount(taken, (lane, name, count) => {
      if (count === 0) return;
      any = true;
      commands.hincrby(key, `${minute}:${lane}:${name}`, count);
    });
    if (!any) return;
    commands.pexpire(key, KEPT_MS);
    try {
      await commands.exec();
    } catch (error) {
      forEachCount(taken, (lane, name, count) => {
        this.#counts[lane][name] += count;
      });
      throw error;
    }
  }
}

function forEachCount(
  counts: Readonly<TrafficCounts>,
  use: (lane: LaneName, name: TrafficCount, count: number) => void,
): void {
  for (const lane of LANES) for (const name of TRAFFIC_COUNTS) use(lane, name, counts[lane][name]);
}

/**
 * Reads the record: one hash for each hour.
 *
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function readTraffic(redis: RedisClient, keys: Keys): Promise<Traffic> {
  const at = Math.floor(await translated(redisTime(redis)));
  const last = Math.floor(at / MINUTE_MS);
  const first = last - TRAFFIC_MINUTES + 1;
  const firstHour = Math.floor(first / 60);
  const hours = await Promise.all(
    Array.from({ length: Math.floor(last / 60) - firstHour + 1 }, (_, index) =>
      translated(redis.hgetall(keys.traffic(firstHour + index))),
    ),
  );
  const total = noTraffic();
  const minutes = Array.from({ length: TRAFFIC_MINUTES }, (_, index) => {
    const minute = first + index;
    const stored = hours[Math.floor(minute / 60) - firstHour] ?? {};
    const counts = noTraffic();
    forEachCount(counts, (lane, name) => {
      counts[lane][name] = Number(stored[`${minute % 60}:${lane}:${name}`] ?? 0);
      total[lane][name] += counts[lane][name];
    });
    return { at: minute * MINUTE_MS, ...counts };
  });
  return { at, minutes, total };
}

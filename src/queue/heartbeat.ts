import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';

/** What a worker process says of itself, every few seconds. */
export interface Heartbeat {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  /** Jobs it is working on right now, and how many it would take. */
  readonly active: number;
  readonly concurrency: number;
  /** Milliseconds since the epoch, by the worker's clock. */
  readonly startedAt: number;
  /** Longest time since the last heartbeat that the process did nothing but one thing. */
  readonly loopDelayMs: number;
}

/** A heartbeat as it was read. */
export interface SeenWorker extends Heartbeat {
  /** Milliseconds since the worker was last heard of, by the clock of Redis. */
  readonly ageMs: number;
}

/** A worker is gone for status after this many missed heartbeats. */
const MISSED = 3;

/** Says that this worker lives. One transaction, whatever the number of jobs. */
export async function beat(
  redis: RedisClient,
  keys: Keys,
  heartbeat: Heartbeat,
  everyMs: number,
): Promise<void> {
  const now = await redisNow(redis);
  await redis
    .multi()
    .set(
      keys.worker(heartbeat.id),
      JSON.stringify({ ...heartbeat, at: now }),
      'PX',
      everyMs * MISSED,
    )
    .zadd(keys.workers, now, heartbeat.id)
    .zremrangebyscore(keys.workers, '-inf', `(${now - everyMs * MISSED}`)
    .exec();
}

/** Says goodbye, so that status forgets a worker that stopped by itself at once. */
export async function endHeartbeat(redis: RedisClient, keys: Keys, id: string): Promise<void> {
  await redis.multi().del(keys.worker(id)).zrem(keys.workers, id).exec();
}

/** The workers that live, in the order of their start. */
export async function readWorkers(redis: RedisClient, keys: Keys): Promise<SeenWorker[]> {
  const ids = await redis.zrangebyscore(keys.workers, '-inf', '+inf');
  const texts = await Promise.all(ids.map((id) => redis.get(keys.worker(id))));
  const now = await redisNow(redis);
  return texts
    .filter((text) => text !== null)
    .map((text) => {
      const { at, ...heartbeat } = JSON.parse(text) as Heartbeat & { at: number };
      return { ...heartbeat, ageMs: Math.max(0, now - at) };
    })
    .sort((a, b) => a.startedAt - b.startedAt);
}

/** Redis time in milliseconds since the epoch. */
async function redisNow(redis: RedisClient): Promise<number> {
  const [seconds, microseconds] = await redis.time();
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
}

import type { RedisClient } from '../redis/connect.ts';
import { readRedisFacts, type RedisFacts } from '../redis/facts.ts';
import { redisFailure } from '../redis/failure.ts';
import { redisTime } from '../redis/server-clock.ts';

/** Properties and measurements of a Redis. */
export interface RedisSnapshot extends RedisFacts {
  /** Median of some PINGs, in milliseconds. */
  readonly latencyMs: number;
  /** How far its clock is ahead of this machine's, in milliseconds; negative where it is behind. */
  readonly aheadMs: number;
}

const PINGS = 11;
const CLOCK_READINGS = 5;

/** Reads the properties of a Redis and measures latency and clock. */
export async function readRedisSnapshot(redis: RedisClient): Promise<RedisSnapshot> {
  const facts = await readRedisFacts(redis);
  try {
    return { ...facts, latencyMs: await latencyOf(redis), aheadMs: await clockOf(redis) };
  } catch (error) {
    throw redisFailure(error);
  }
}

async function latencyOf(redis: RedisClient): Promise<number> {
  const times: number[] = [];
  for (let ping = 0; ping < PINGS; ping++) {
    const startedAt = performance.now();
    await redis.ping();
    times.push(performance.now() - startedAt);
  }
  return times.sort((a, b) => a - b)[Math.floor(PINGS / 2)] ?? 0;
}

/** The fastest of several readings is the most exact; Redis answered about in the middle of it. */
async function clockOf(redis: RedisClient): Promise<number> {
  let best = { tookMs: Infinity, aheadMs: 0 };
  for (let reading = 0; reading < CLOCK_READINGS; reading++) {
    const [startedAt, at] = [performance.now(), Date.now()];
    const theirs = await redisTime(redis);
    const tookMs = performance.now() - startedAt;
    if (tookMs < best.tookMs) best = { tookMs, aheadMs: theirs - (at + tookMs / 2) };
  }
  return best.aheadMs;
}

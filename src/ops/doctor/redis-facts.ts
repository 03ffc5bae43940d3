import type { RedisClient } from '../../redis/connect.ts';
import { redisFailure } from '../../redis/failure.ts';

/** What a Redis says of itself, and what was measured of it. What it does not say is not held against it. */
export interface RedisSigns {
  readonly version: string;
  /** `maxmemory-policy`; empty where the server does not say. */
  readonly policy: string;
  readonly role: 'master' | 'replica' | 'unknown';
  /**
   * What survives a crash: `aof`, all but about a second; `rdb`, what was there at the last snapshot;
   * `none`, nothing; `unknown` where the server does not say.
   */
  readonly persistence: 'aof' | 'rdb' | 'none' | 'unknown';
  /** Its last write to the append-only file, or its last snapshot, failed. */
  readonly saveFailed: boolean;
  readonly usedBytes: number;
  /** `maxmemory`; 0 where there is none. */
  readonly maxBytes: number;
  /** Memory of its machine; 0 where it is not said. */
  readonly machineBytes: number;
  /** Median of some PINGs, in milliseconds. */
  readonly latencyMs: number;
  /** How far its clock is ahead of this machine's, in milliseconds; negative where it is behind. */
  readonly aheadMs: number;
}

const PINGS = 11;
const CLOCK_READINGS = 5;

/** @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED */
export async function readRedisSigns(redis: RedisClient): Promise<RedisSigns> {
  try {
    const info = await redis.info();
    const field = (name: string) => fieldOf(info, name);
    const role = field('role');
    const aof = field('aof_enabled');
    return {
      version: field('redis_version'),
      policy: field('maxmemory_policy'),
      role: role === 'master' ? 'master' : role === 'slave' ? 'replica' : 'unknown',
      persistence: aof === '1' ? 'aof' : aof === '' ? 'unknown' : await snapshotsOf(redis),
      saveFailed: ['aof_last_write_status', 'rdb_last_bgsave_status'].some(
        (name) => field(name) === 'err',
      ),
      usedBytes: Number(field('used_memory')) || 0,
      maxBytes: Number(field('maxmemory')) || 0,
      machineBytes: Number(field('total_system_memory')) || 0,
      latencyMs: await latencyOf(redis),
      aheadMs: await clockOf(redis),
    };
  } catch (error) {
    throw redisFailure(error);
  }
}

/** CONFIG needs a permission that managed services do not give. */
async function snapshotsOf(redis: RedisClient): Promise<'rdb' | 'none' | 'unknown'> {
  try {
    const [, save] = await redis.config('GET', 'save');
    return save === undefined ? 'unknown' : save === '' ? 'none' : 'rdb';
  } catch (error) {
    if (error instanceof Error && error.name === 'ReplyError') return 'unknown';
    throw error;
  }
}

async function latencyOf(redis: RedisClient): Promise<number> {
  const times: number[] = [];
  for (let ping = 0; ping < PINGS; ping++) {
    const begun = performance.now();
    await redis.ping();
    times.push(performance.now() - begun);
  }
  return times.sort((a, b) => a - b)[Math.floor(PINGS / 2)] ?? 0;
}

/** The reading that took least time is the most exact; its answer is from the middle of it, about. */
async function clockOf(redis: RedisClient): Promise<number> {
  let best = { tookMs: Infinity, aheadMs: 0 };
  for (let reading = 0; reading < CLOCK_READINGS; reading++) {
    const [begun, at] = [performance.now(), Date.now()];
    const [seconds, microseconds] = await redis.time();
    const tookMs = performance.now() - begun;
    const theirs = Number(seconds) * 1_000 + Number(microseconds) / 1_000;
    if (tookMs < best.tookMs) best = { tookMs, aheadMs: theirs - (at + tookMs / 2) };
  }
  return best.aheadMs;
}

const fieldOf = (info: string, name: string) =>
  new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';

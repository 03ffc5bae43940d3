import { randomUUID } from 'node:crypto';
import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';
import { redisTime } from '../redis/server-clock.ts';
import type { EpochMemory } from './restore/epoch.ts';
import { beatEpoch, endEpochBeats } from './restore/epoch-scripts.ts';

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
  /** Why it is not ready, and since when by the worker's clock; absent or empty when it is. */
  readonly unready?: readonly { readonly reason: string; readonly since: number }[];
}

/** A heartbeat as it was read. */
export interface SeenWorker extends Heartbeat {
  /** Milliseconds since the worker was last heard of, by the clock of Redis. */
  readonly ageMs: number;
}

/** A worker is gone for status after this many missed heartbeats. */
const MISSED = 3;

/**
 * Says that this worker lives, and advances the epoch. One script, whatever the number of jobs.
 *
 * @param memory what is remembered of the epoch; undefined where Redis should have none
 * @returns what is to be remembered from now on; undefined where Redis is not as remembered: then
 *   nothing was said, and it may hold an old copy (epoch.ts)
 */
export async function beat(
  redis: RedisClient,
  keys: Pick<Keys, 'epoch' | 'worker' | 'workers'>,
  heartbeat: Heartbeat,
  everyMs: number,
  memory?: EpochMemory,
): Promise<EpochMemory | undefined> {
  const { id } = heartbeat;
  return beatEpoch(
    redis,
    [keys.epoch, keys.worker(id), keys.workers],
    [...remembered(memory), id, JSON.stringify(heartbeat), everyMs * MISSED, randomUUID()],
  );
}

/**
 * Says goodbye, so that status forgets a worker that stopped by itself at once. The last one that
 * does so leaves word that all have stopped in order, unless Redis is not as remembered.
 */
export async function endHeartbeat(
  redis: RedisClient,
  keys: Pick<Keys, 'epoch' | 'worker' | 'workers'>,
  id: string,
  everyMs: number,
  memory?: EpochMemory,
): Promise<void> {
  await endEpochBeats(
    redis,
    [keys.epoch, keys.worker(id), keys.workers],
    [...remembered(memory), id, everyMs * MISSED],
  );
}

const remembered = (memory: EpochMemory | undefined) => [
  memory?.id ?? '',
  memory?.event ?? '',
  memory?.beats ?? 0,
  memory?.server ?? '',
];

/** The workers that live, in the order of their start. */
export async function readWorkers(redis: RedisClient, keys: Keys): Promise<SeenWorker[]> {
  const flat = await redis.zrange(keys.workers, '0', '-1', 'WITHSCORES');
  const heard = flat.filter((_, index) => index % 2 === 1).map(Number);
  const ids = flat.filter((_, index) => index % 2 === 0);
  const texts = await Promise.all(ids.map((id) => redis.get(keys.worker(id))));
  const now = Math.floor(await redisTime(redis));
  return texts
    .flatMap((text, index) =>
      text === null
        ? []
        : [{ ...(JSON.parse(text) as Heartbeat), ageMs: Math.max(0, now - (heard[index] ?? 0)) }],
    )
    .sort((a, b) => a.startedAt - b.startedAt);
}

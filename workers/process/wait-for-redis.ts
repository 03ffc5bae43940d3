import type { Logger } from 'pino';
import type { Config } from '../../src/config/config.ts';
import { connectRedis, readyWithin, type RedisClient } from '../../src/redis/connect.ts';
import type { Keys } from '../../src/redis/keys.ts';
import { requireSuitable, type RedisFinding } from '../../src/redis/suitability.ts';

/** A worker waits this long for Redis at its start before it says so in the log. */
const PATIENCE_MS = 5_000;

/** Redis, as a worker needs it. */
export interface ConnectedRedis {
  readonly redis: RedisClient;
  readonly subscriber: RedisClient;
  /** What is found at it and only warned of. */
  readonly found: readonly RedisFinding[];
  readonly disconnect: () => void;
}

/**
 * Connects to Redis, waits for as long as it is away, and looks whether it is fit for the queue.
 *
 * @returns undefined when the worker is told to stop first
 * @throws NoticeQueueError REDIS_UNSUITABLE, QUEUE_REFUSED
 */
export async function waitForRedis(
  config: Pick<Config, 'redis' | 'redisWatch'>,
  keys: Pick<Keys, 'hold'>,
  onError: (error: Error) => void,
  log: Logger,
  abandoned: AbortSignal,
): Promise<ConnectedRedis | undefined> {
  const redis = connectRedis(config.redis, 'worker', onError);
  const subscriber = connectRedis(config.redis, 'subscriber', onError);
  const disconnect = () => {
    redis.disconnect();
    subscriber.disconnect();
  };
  try {
    while (!(await readyWithin(redis, PATIENCE_MS, abandoned)) && !abandoned.aborted) {
      log.warn({ event: 'waiting-for-redis' }, 'Redis does not answer yet; check REDIS_URL');
    }
    // Redis that goes away again, or freezes, answers when it is back.
    const suitable = requireSuitable(redis, config.redisWatch, keys);
    const found = await unlessAborted(suitable, abandoned);
    if (found !== undefined) return { redis, subscriber, found, disconnect };
  } catch (error) {
    disconnect();
    throw error;
  }
  disconnect();
  return undefined;
}

/** What a step answers; undefined when the signal comes first. */
async function unlessAborted<Result>(
  step: Promise<Result>,
  signal: AbortSignal,
): Promise<Result | undefined> {
  const told = new Promise<undefined>((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  return Promise.race([step, told]);
}

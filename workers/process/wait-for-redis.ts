import type { Logger } from 'pino';
import { unlessAborted } from '../../src/async/cancellation.ts';
import type { Config } from '../../src/config/config.ts';
import {
  connectRedis,
  readyWithin,
  type RedisClient,
  type RedisSettings,
} from '../../src/redis/connect.ts';
import type { Keys } from '../../src/redis/keys.ts';
import { requireSuitable, type RedisFinding } from '../../src/redis/suitability.ts';

/** A worker that waits for Redis at its start logs it this often. */
const LOG_EVERY_MS = 5_000;

/** The configuration of a worker. Where Redis is may come from the caller's connection. */
export type WorkerProgram = Omit<Config, 'redis'> & {
  readonly redis: RedisSettings & { readonly prefix: string };
};

/** What a worker connects with. */
export interface WaitForRedisOptions {
  readonly config: Pick<WorkerProgram, 'redis' | 'redisWatch'>;
  readonly keys: Pick<Keys, 'hold'>;
  /** Called with each error of the connections. */
  readonly onError: (error: Error) => void;
  readonly log: Logger;
  /** Aborted when the worker is stopped before it has started. */
  readonly abandoned: AbortSignal;
}

/** The connections of a worker. */
export interface ConnectedRedis {
  readonly redis: RedisClient;
  readonly subscriber: RedisClient;
  /** Findings that are only logged as warnings. */
  readonly found: readonly RedisFinding[];
  readonly disconnect: () => void;
}

/**
 * Connects to Redis, waits as long as it is unavailable, and checks that it meets the requirements of the
 * queue.
 *
 * @returns undefined if the worker is stopped first
 * @throws NoticeQueueError REDIS_UNSUITABLE, QUEUE_REFUSED
 */
export async function waitForRedis({
  config,
  keys,
  onError,
  log,
  abandoned,
}: WaitForRedisOptions): Promise<ConnectedRedis | undefined> {
  const redis = connectRedis(config.redis, 'worker', onError);
  const subscriber = connectRedis(config.redis, 'subscriber', onError);
  const disconnect = () => {
    redis.disconnect();
    subscriber.disconnect();
  };
  try {
    while (!(await readyWithin(redis, LOG_EVERY_MS, abandoned)) && !abandoned.aborted) {
      log.warn({ event: 'waiting-for-redis' }, 'Redis does not answer yet; check REDIS_URL');
    }
    // If Redis becomes unavailable again, this waits for it.
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

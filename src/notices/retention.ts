import type { Retention } from './notice-state.ts';
import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';

/**
 * Stores how long this worker keeps ended notices, so that a look-up can say it without the configuration
 * of the workers. One command at the start of a worker.
 *
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function storeRetention(
  redis: RedisClient,
  { retention: key }: Pick<Keys, 'retention'>,
  retention: Retention,
): Promise<void> {
  try {
    await redis.hset(key, { ...retention });
  } catch (error) {
    throw redisFailure(error);
  }
}

/** Reads the fields of the Redis hash; undefined where no worker has stored them. */
export function readRetention(fields: Readonly<Record<string, string>>): Retention | undefined {
  const { acceptedMs, acceptedCount, failedMs } = fields;
  if (acceptedMs === undefined || acceptedCount === undefined || failedMs === undefined) {
    return undefined;
  }
  return {
    acceptedMs: Number(acceptedMs),
    acceptedCount: Number(acceptedCount),
    failedMs: Number(failedMs),
  };
}

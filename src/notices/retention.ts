import type { Retention } from './notice-state.ts';
import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';

/**
 * Stores how long this worker keeps ended notices, how many events of them, and its sending hours, so that look-ups
 * and manual actions need no configuration of the workers. One command at the start of a worker.
 *
 * @param kept `events`: NOTICE_EVENTS; `sendWindows`: SEND_WINDOWS, empty without it
 */
export async function storeRetention(
  redis: RedisClient,
  { retention: key }: Pick<Keys, 'retention'>,
  kept: Retention & { readonly events: number; readonly sendWindows: string },
): Promise<void> {
  try {
    await redis.hset(key, { ...kept });
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

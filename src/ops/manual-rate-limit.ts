import { readRateLimit, type RateLimitStatus } from '../fleet/rate-limit/rate-limit-state.ts';
import { setManualRateLimit } from '../fleet/rate-limit/rate-limiter.ts';
import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import type { Actor } from './actor.ts';
import { appendAudit } from './audit.ts';

/** The most send calls a second that may be set by hand. */
export const MAX_RATE_LIMIT = 100_000;

/** The longest reason for a pace. */
export const MAX_RATE_LIMIT_REASON = 100;

/** A pace as people name it, and as it stands in the audit stream: `default` is PACE again. */
export type ExplainedRateLimit = number | 'off' | 'default';

/** Where the pace is. */
interface RateLimitTarget {
  readonly redis: RedisClient;
  readonly keys: Keys;
}

/**
 * The pace of the account; undefined where nothing limits, and nothing ever did.
 *
 * @param configured PACE of this process, shown until a worker has said which one is in effect
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function rateLimitInForce(
  { redis, keys }: RateLimitTarget,
  configured: number,
): Promise<RateLimitStatus | undefined> {
  try {
    return await readRateLimit(redis, keys, configured);
  } catch (error) {
    throw redisFailure(error);
  }
}

/**
 * Sets the pace of all workers together until it is set again, and writes down who did.
 *
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function setAuditedRateLimit(
  { redis, keys }: RateLimitTarget,
  pace: ExplainedRateLimit,
  actor: Actor,
): Promise<void> {
  try {
    await setManualRateLimit(redis, keys, valueOf(pace));
    await appendAudit(redis, keys, { ...actor, what: 'pace', target: 'queue', as: String(pace) });
  } catch (error) {
    throw redisFailure(error);
  }
}

function valueOf(pace: ExplainedRateLimit): number | undefined {
  if (pace === 'default') return undefined;
  return pace === 'off' ? 0 : pace;
}

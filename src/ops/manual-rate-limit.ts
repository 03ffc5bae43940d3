import { setManualRateLimit, type RateLimitStatus } from '../fleet/rate-limit/rate-limit-state.ts';
import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import { appendAudit, type Actor } from './audit.ts';
import { FleetReader } from './snapshot.ts';

/**
 * A rate limit as people write it, and as the audit stream has it: send requests per second, `off`
 * for no limit, or `default` for the configured one.
 */
export type ExplainedRateLimit = number | 'off' | 'default';

/** The account that is limited. */
interface RateLimitTarget {
  readonly redis: RedisClient;
  readonly keys: Keys;
}

/**
 * Reads the rate limit of the account.
 *
 * @param configured the configured limit of this process, shown until a worker has reported its own
 * @returns undefined where no limit is or was in force
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function rateLimitInForce(
  target: RateLimitTarget,
  configured: number,
): Promise<RateLimitStatus | undefined> {
  const reader = new FleetReader({ ...target, rateLimit: configured });
  return (await reader.read('rateLimit')).rateLimit;
}

/**
 * Sets the rate limit of all workers together until it is set again, and records it in the audit
 * stream.
 *
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function setAuditedRateLimit(
  { redis, keys }: RateLimitTarget,
  limit: ExplainedRateLimit,
  actor: Actor,
): Promise<void> {
  const entry = { ...actor, what: 'rate-limit', target: 'queue', as: String(limit) } as const;
  try {
    await setManualRateLimit(redis, keys, valueOf(limit));
    await appendAudit(redis, keys, entry);
  } catch (error) {
    throw redisFailure(error);
  }
}

function valueOf(limit: ExplainedRateLimit): number | undefined {
  if (limit === 'default') return undefined;
  return limit === 'off' ? 0 : limit;
}

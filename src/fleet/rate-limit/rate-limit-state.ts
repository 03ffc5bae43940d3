import type { RedisClient } from '../../redis/connect.ts';
import type { Keys } from '../../redis/keys.ts';
import { redisTime } from '../../redis/server-clock.ts';

/** The rate limit of an account as it is stored in Redis. Rates are send requests per second of the whole fleet. */
export interface RateLimitState {
  /** RATE_LIMIT of the worker that asked last; 0 is no limit. */
  readonly configured: number;
  /** Set manually while running; replaces `configured`, and 0 is no limit here, too. */
  readonly manual?: number;
  /** The last decrease, also after its recovery. */
  readonly fall?: RateLimitDecrease;
}

/** A decrease of the rate limit after a 429. Times are Redis time, in milliseconds since the epoch. */
export interface RateLimitDecrease {
  readonly at: number;
  /** The rate that was refused: the limit in effect or, without one, the rate of all workers. */
  readonly from: number;
  readonly to: number;
  /** When the limit starts to rise: at the next probe of the hold that the 429 caused. */
  readonly risesFrom: number;
  /** How long a rise from zero to the target would take, in milliseconds. */
  readonly recoveryMs: number;
}

/** Without a configured limit, a decrease ends at this multiple of the rate that was refused. */
export const RECOVERED_AT = 1.25;

/**
 * Without a configured limit, a 429 at fewer requests per second than this causes no decrease: the
 * request rate is hardly the reason, and the hold that follows a 429 is answer enough.
 */
export const LEAST_OBSERVED = 10;

/**
 * The rate limit in effect: additive increase, multiplicative decrease.
 *
 * A decrease lowers the limit once. From `risesFrom` on the limit rises linearly, at a slope that leads
 * from zero to the target in `recoveryMs`. The target is the configured limit, where the rise ends.
 * Without one it is the rate that was refused, and the rise goes on to {@link RECOVERED_AT} times that
 * rate; then there is no limit any more.
 *
 * rate-limit-scripts.ts has the same function in Lua; a test compares the two.
 *
 * @param now Redis time in milliseconds
 * @returns requests per second; undefined without a limit
 */
export function effectiveRateLimit(state: RateLimitState, now: number): number | undefined {
  const { fall } = state;
  const limit = limitSet(state);
  const risen =
    fall === undefined
      ? Infinity
      : fall.to + slope(fall, limit) * Math.max(0, now - fall.risesFrom);
  if (limit > 0) return Math.min(limit, risen);
  return fall !== undefined && risen < recoveredRate(fall) ? risen : undefined;
}

/** When the last decrease has been recovered from; undefined when there was none. */
export function decreaseEndsAt(state: RateLimitState): number | undefined {
  const { fall } = state;
  if (fall === undefined) return undefined;
  const limit = limitSet(state);
  const missing = (limit > 0 ? limit : recoveredRate(fall)) - fall.to;
  return fall.risesFrom + Math.max(0, missing / slope(fall, limit));
}

const limitSet = ({ configured, manual }: RateLimitState) => manual ?? configured;

/** Where the rise ends without a configured limit. */
const recoveredRate = ({ from }: RateLimitDecrease) =>
  from < LEAST_OBSERVED ? 0 : RECOVERED_AT * from;

/** By how much the limit rises per millisecond. */
const slope = ({ from, recoveryMs }: RateLimitDecrease, limit: number) =>
  (limit > 0 ? limit : from) / recoveryMs;

/** The rate limit as `notices status` and `notices rate-limit` show it. */
export interface RateLimitStatus extends RateLimitState {
  /** The limit in effect; absent without one. */
  readonly now?: number;
  /** Until when a decrease lowers the limit; absent when none does. */
  readonly lowUntil?: number;
}

/**
 * Reads the rate limit of an account.
 *
 * @param configured RATE_LIMIT of this process, shown until a worker has stored its own
 * @returns undefined when there is no limit and never was one
 */
export async function readRateLimit(
  redis: RedisClient,
  keys: Keys,
  configured: number,
): Promise<RateLimitStatus | undefined> {
  const [fields, at] = await Promise.all([redis.hgetall(keys.rateLimit), redisTime(redis)]);
  const state = readRateLimitState(fields, configured);
  if (state.configured === 0 && state.manual === undefined && state.fall === undefined) {
    return undefined;
  }
  const now = effectiveRateLimit(state, at);
  const overAt = decreaseEndsAt(state);
  const { fall } = state;
  return {
    ...state,
    // The scripts count in microseconds; what is shown has whole milliseconds.
    ...(fall === undefined
      ? {}
      : { fall: { ...fall, at: Math.floor(fall.at), risesFrom: Math.ceil(fall.risesFrom) } }),
    ...(now === undefined ? {} : { now }),
    ...(overAt === undefined || overAt <= at ? {} : { lowUntil: Math.ceil(overAt) }),
  };
}

/** Reads the fields of the Redis hash. */
export function readRateLimitState(
  fields: Readonly<Record<string, string>>,
  configured: number,
): RateLimitState {
  const { manual, fellTo } = fields;
  return {
    configured: Number(fields['configured'] ?? configured),
    ...(manual === undefined ? {} : { manual: Number(manual) }),
    ...(fellTo === undefined
      ? {}
      : {
          fall: {
            at: Number(fields['fellAt']),
            from: Number(fields['fellFrom']),
            to: Number(fellTo),
            risesFrom: Number(fields['risesFrom']),
            recoveryMs: Number(fields['recoveryMs']),
          },
        }),
  };
}

/** Highest rate limit that can be set manually, in send requests per second. */
export const MAX_RATE_LIMIT = 100_000;

/** Longest reason for a manual rate limit, in characters. */
export const MAX_RATE_LIMIT_REASON = 100;

import type { RedisClient } from '../../redis/connect.ts';
import type { Keys } from '../../redis/keys.ts';
import { redisTime } from '../../redis/server-clock.ts';

/** The pace of an account as it stands in Redis. Rates are send calls a second, for the fleet. */
export interface RateLimitState {
  /** PACE of the worker that asked last; 0 is no limit of ours. */
  readonly configured: number;
  /** Set while running, by hand; takes the place of `configured`, and 0 is no limit here, too. */
  readonly manual?: number;
  /** The last fall, also when it is over. */
  readonly fall?: RateLimitDecrease;
}

/** A fall of the pace after a 429. Times are Redis time, in milliseconds since the epoch. */
export interface RateLimitDecrease {
  readonly at: number;
  /** The pace that was refused: the one in force or, where there was none, what was observed. */
  readonly from: number;
  readonly to: number;
  /** When the pace begins to rise: with the next probe of the hold that the 429 brought on. */
  readonly risesFrom: number;
  /** A rise from nothing to the pace it aims at takes so long. */
  readonly recoveryMs: number;
}

/**
 * Where nobody set a pace, a fall is over once the pace has risen so far beyond the one that was
 * refused.
 */
export const BEYOND = 1.25;

/**
 * Where nobody set a pace, and less was sent than so many calls a second, a 429 says little about
 * the pace: the hold that it brings on is the answer, and nothing limits after it.
 */
export const LEAST_OBSERVED = 10;

/**
 * The pace in force: additive increase, multiplicative decrease.
 *
 * A fall cuts the pace once; from `risesFrom` on it rises in a straight line that would take
 * `recoveryMs` from nothing to its aim: the pace that was set or, where none was, the one that was
 * refused. The rise ends at the pace that was set. Where none was, it goes on to {@link BEYOND} times
 * the one that was refused; from there on nothing limits any more.
 *
 * The same function stands in Lua in rate-limit-scripts.ts.
 *
 * @param now Redis time in milliseconds
 * @returns send calls a second; undefined where there is no limit
 */
export function effectiveRateLimit(
  { configured, manual: byHand, fall }: RateLimitState,
  now: number,
): number | undefined {
  const limit = byHand ?? configured;
  const risen = fall === undefined ? Infinity : risenTo(fall, limit, now);
  if (limit > 0) return Math.min(limit, risen);
  return fall !== undefined && risen < endOf(fall) ? risen : undefined;
}

/** When the last fall is over, or was; undefined where there was none. */
export function decreaseEndsAt({
  configured,
  manual: byHand,
  fall,
}: RateLimitState): number | undefined {
  if (fall === undefined) return undefined;
  const limit = byHand ?? configured;
  const missing = (limit > 0 ? limit : endOf(fall)) - fall.to;
  return fall.risesFrom + Math.max(0, missing / slope(fall, limit));
}

/** Where the rise ends when nobody set a pace. */
const endOf = ({ from }: RateLimitDecrease) => (from < LEAST_OBSERVED ? 0 : BEYOND * from);

const risenTo = (fall: RateLimitDecrease, limit: number, now: number) =>
  fall.to + slope(fall, limit) * Math.max(0, now - fall.risesFrom);

/** By how much the pace rises in a millisecond. */
const slope = ({ from, recoveryMs }: RateLimitDecrease, limit: number) =>
  (limit > 0 ? limit : from) / recoveryMs;

/** The pace as `notices status` and `notices pace` show it. */
export interface RateLimitStatus extends RateLimitState {
  /** What is in force now; absent where nothing limits. */
  readonly now?: number;
  /** When the pace is no longer lower because of a fall; absent where it is not. */
  readonly lowUntil?: number;
}

/**
 * Reads the pace of an account.
 *
 * @param configured PACE of this process, shown until a worker has said which one is in effect
 * @returns undefined where nothing limits, and nothing ever did
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
  return {
    ...state,
    ...(now === undefined ? {} : { now }),
    ...(overAt === undefined || overAt <= at ? {} : { lowUntil: Math.ceil(overAt) }),
  };
}

/** Reads the fields of the hash. */
export function readRateLimitState(
  fields: Readonly<Record<string, string>>,
  configured: number,
): RateLimitState {
  const { byHand, fellTo } = fields;
  return {
    configured: Number(fields['configured'] ?? configured),
    ...(byHand === undefined ? {} : { manual: Number(byHand) }),
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

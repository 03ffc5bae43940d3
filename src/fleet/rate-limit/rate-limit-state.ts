import { z } from 'zod';
import { named, time, type Answer } from '../../contracts/answer.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { hintChannel } from '../../redis/hints.ts';
import type { Keys } from '../../redis/keys.ts';
import { defineScript } from '../../redis/script.ts';

/*
 * The rate limit of the account, in one hash: additive increase, multiplicative decrease. Rates are send requests per
 * second of the whole fleet; times are Redis time.
 *
 * A decrease lowers the limit once. From `risesFrom` on it rises linearly, at a slope that leads from zero to the target
 * in `recoveryMs`. The target is the configured limit, where the rise ends. Without one it is the rate that was refused,
 * and the rise goes on to RECOVERED_AT times that rate; then there is no limit any more.
 */

/** How far ahead permits are issued, in milliseconds. */
export const REACH_MS = 1_000;

/** How much time's worth of permits one call gets at most, in milliseconds. */
const PORTION_MS = 100;

/** Without a configured limit, a decrease ends at this multiple of the rate that was refused. */
const RECOVERED_AT = 1.25;

/**
 * Without a configured limit, a 429 at fewer requests per second than this causes no decrease: the
 * request rate is hardly the reason, and the hold that follows a 429 is answer enough.
 */
export const LEAST_OBSERVED = 10;

/** Highest rate limit that can be set manually, in send requests per second. */
export const MAX_RATE_LIMIT = 100_000;

/** Longest reason for a manual rate limit, in characters. */
export const MAX_RATE_LIMIT_REASON = 100;

/** KEYS[1]: the hash. ARGV[1]: RATE_LIMIT of this process. `nextAt` is the time of the next permit; nil is no limit. */
const PRELUDE = `
local state, configured = KEYS[1], ARGV[1]
local now = exactClock()
local manual, kept, fellAt, from, to, risesFrom, recoveryMs, nextAt = unpack(redis.call('HMGET', state,
  'manual', 'configured', 'fellAt', 'fellFrom', 'fellTo', 'risesFrom', 'recoveryMs', 'nextAt'))
from, to, risesFrom = tonumber(from or nil), tonumber(to or nil), tonumber(risesFrom or 0)
local function text(number) return string.format('%.3f', number) end
local limit = tonumber(manual or configured)
local slope = to and (limit > 0 and limit or from) / tonumber(recoveryMs)
-- Where the rise ends.
local target = limit > 0 and limit or to and (from < ${LEAST_OBSERVED} and 0 or ${RECOVERED_AT} * from)
local function inForce()
  local risen = to and to + slope * math.max(0, now - risesFrom) or math.huge
  if limit > 0 then return math.min(limit, risen) end
  return to and risen < target and risen or nil
end
`;

/** The answer to a process that asks for permits. Milliseconds from now. */
export type Permits =
  | { readonly kind: 'unlimited' }
  /** The next permit is further ahead than {@link REACH_MS}; the lanes are blocked until it is near. */
  | { readonly kind: 'none' }
  /** `count` permits: the first one in `firstInMs`, each of the others `gapMs` later. */
  | {
      readonly kind: 'permits';
      readonly count: number;
      readonly firstInMs: number;
      readonly gapMs: number;
    };

/**
 * Takes permits. They are issued one after the other for the whole account, at the distance that the
 * limit asks for, whichever process takes them (a generic cell rate algorithm without a burst).
 *
 * One call gets at most {@link PORTION_MS} worth of permits, and a quarter of what is left within reach,
 * so that every process gets some. When none is left, BullMQ's limiter keys block the lanes until half
 * of the reach is free again; a hold that lasts longer is not shortened.
 *
 * After a decrease the limit rises from the next probe of the hold on. Where no key blocks the lanes before that time,
 * the hold was lifted, or the clock went back since: then it rises from now on.
 *
 * KEYS: the hash, and BullMQ's limiter keys, one for each queue. ARGV: RATE_LIMIT, number of permits wanted.
 */
export const takePermits = defineScript({
  name: 'takePermits',
  lua: `${PRELUDE}
local blocked = 9007199254740991
local function isBlocked(key) return tonumber(redis.call('GET', key) or 0) >= blocked end
if configured ~= (kept or '0') then
  alsoWhenFull()
  redis.call('HSET', state, 'configured', configured)
end
if to and risesFrom > now and not isBlocked(KEYS[2]) then
  redis.call('HSET', state, 'risesFrom', text(now))
end
local rate = inForce()
if not rate then return { 'unlimited' } end
alsoWhenFull()
local gap = 1000 / rate
local at = math.max(tonumber(nextAt or 0), now)
-- No permit is ever issued that far ahead: the clock went back.
if at > now + ${2 * REACH_MS} then at = now end
local left = now + ${REACH_MS} - at
if left < 0 then
  local ms = math.ceil(at - now - ${REACH_MS / 2})
  for index = 2, #KEYS do
    if not isBlocked(KEYS[index]) or redis.call('PTTL', KEYS[index]) < ms then
      redis.call('SET', KEYS[index], blocked, 'PX', ms)
    end
  end
  return { 'none' }
end
local worth = math.min(${PORTION_MS}, left / 4)
local count = math.min(tonumber(ARGV[2]), math.max(1, math.floor(worth / gap)))
redis.call('HSET', state, 'nextAt', text(at + count * gap))
return { 'permits', count, text(at - now), text(gap) }`,
  parse: (reply: unknown): Permits => {
    const [kind, count, firstInMs, gapMs] = reply as [Permits['kind'], ...unknown[]];
    return kind === 'permits'
      ? { kind, count: Number(count), firstInMs: Number(firstInMs), gapMs: Number(gapMs) }
      : { kind };
  },
});

/**
 * Decreases the limit after 429s: once a second, and once for a hold, until whose next probe it does not rise. Without a
 * limit it decreases from the rate of this process times the number of workers, which share the work.
 *
 * KEYS: the hash, the holds, the workers. ARGV: RATE_LIMIT, lowest limit, share that is left after a decrease,
 * time in which it would recover from zero, requests per second of this process, channel. Answers what it was and is, if it decreased.
 */
export const decreaseRateLimit = defineScript({
  name: 'decreaseRateLimit',
  lua: `${PRELUDE}
local held = jsonOf(redis.call('HGET', KEYS[2], 'queue')) or {}
local later = math.max(tonumber(held.next) or 0, now)
alsoWhenFull()
fellAt = tonumber(fellAt or nil)
-- A decrease in the future is from before the clock went back.
if to and (now < risesFrom or fellAt <= now and now < fellAt + 1000) then
  if later > risesFrom then redis.call('HSET', state, 'risesFrom', text(later)) end
  return {}
end
local refused = inForce() or tonumber(ARGV[5]) * math.max(1, redis.call('HLEN', KEYS[3]))
local left = math.max(tonumber(ARGV[2]), refused * tonumber(ARGV[3]))
redis.call('HSET', state, 'fellAt', text(now), 'fellFrom', text(refused), 'fellTo', text(left),
  'risesFrom', text(later), 'recoveryMs', ARGV[4])
redis.call('PUBLISH', ARGV[6], 'changed')
return { text(refused), text(left) }`,
  parse: (reply: unknown): { from: number; to: number } | undefined => {
    const [from, to] = reply as readonly string[];
    return from === undefined ? undefined : { from: Number(from), to: Number(to) };
  },
});

/** Sets the limit manually, or returns to the configured one ('manual'); forgets the last decrease. */
const setScript = defineScript({
  name: 'setRateLimit',
  lua: `
redis.call('HDEL', KEYS[1], 'manual', 'fellAt', 'fellFrom', 'fellTo', 'risesFrom', 'recoveryMs')
if ARGV[1] ~= '' then redis.call('HSET', KEYS[1], 'manual', ARGV[1]) end
redis.call('PUBLISH', ARGV[2], 'changed')
return 1`,
});

/**
 * Sets the rate limit manually: it replaces the configured limit and any decrease, until it is set again.
 * @param limit requests per second; 0 for no limit, undefined to return to the configured limit
 */
export async function setManualRateLimit(
  redis: RedisClient,
  keys: Keys,
  limit: number | undefined,
): Promise<void> {
  const args = [limit ?? '', hintChannel(redis, keys.rateLimitHints)];
  await setScript(redis, [keys.rateLimit], args);
}

/** The rate limit as `notices status` and `notices rate-limit` show it. */
const rate = z.number().min(0);

export const rateLimitAnswer = named(
  'RateLimit',
  z.object({
    configured: rate.describe('the configured limit, in send requests per second; 0 for no limit'),
    fall: z
      .object({
        at: time,
        from: rate.describe('the rate that was refused'),
        to: rate,
        risesFrom: time.describe('the next probe of the hold that the 429 caused'),
        recoveryMs: z.number().describe('how long a rise from 0 to the target would take'),
      })
      .exactOptional()
      .describe('the last decrease after a 429, also when it is over'),
    now: rate.exactOptional().describe('the limit in force; absent where there is none'),
    lowUntil: z.number().exactOptional().describe('when the decrease is over; absent where it is'),
    manual: rate.exactOptional().describe('set manually in its place; 0 for no limit'),
  }),
);

export type RateLimitStatus = Answer<z.output<typeof rateLimitAnswer>>;

const readScript = defineScript({
  name: 'readRateLimit',
  lua: `
local configured = redis.call('HGET', KEYS[1], 'configured')
if configured then ARGV[1] = configured end
${PRELUDE}
local rate = inForce()
local lowUntil = to and risesFrom + math.max(0, (target - to) / slope)
return { configured, manual or '', rate and text(rate) or '', lowUntil and lowUntil > now and text(lowUntil) or '',
  to and { fellAt, text(from), text(to), text(risesFrom), recoveryMs } or {} }`,
});

/**
 * Reads the rate limit of an account.
 * @param configured RATE_LIMIT of this process, shown until a worker has stored its own
 * @returns undefined when there is no limit and never was one
 */
export async function readRateLimit(
  redis: RedisClient,
  keys: Keys,
  configured: number,
): Promise<RateLimitStatus | undefined> {
  const reply = await readScript(redis, [keys.rateLimit], [configured]);
  const [set, manual, now, lowUntil, fall] = reply as [string, string, string, string, string[]];
  const [at, from, to, risesFrom, recoveryMs] = fall.map(Number);
  if (Number(set) === 0 && manual === '' && at === undefined) return undefined;
  return {
    configured: Number(set),
    ...(manual === '' ? {} : { manual: Number(manual) }),
    // The scripts count in microseconds; what is shown has whole milliseconds.
    ...(at === undefined
      ? {}
      : {
          fall: {
            at: Math.floor(at),
            from: from ?? 0,
            to: to ?? 0,
            risesFrom: Math.ceil(risesFrom ?? 0),
            recoveryMs: recoveryMs ?? 0,
          },
        }),
    ...(now === '' ? {} : { now: Number(now) }),
    ...(lowUntil === '' ? {} : { lowUntil: Math.ceil(Number(lowUntil)) }),
  };
}

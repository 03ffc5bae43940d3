import { defineScript } from '../../redis/script.ts';
import { LEAST_OBSERVED, RECOVERED_AT } from './rate-limit-state.ts';

/**
 * The changes of the rate limit, one script each, so that they are atomic for the fleet (see
 * rate-limiter.ts). KEYS[1] of all is the hash of the rate limit; its field `nextAt` is the time of the
 * next permit that is not taken yet.
 */

/** How far ahead permits are issued, in milliseconds; no job waits for a permit longer than this. */
export const REACH_MS = 1_000;

/** How much time's worth of permits one call gets at most, in milliseconds. */
const PORTION_MS = 100;

/** Shared by the scripts. `effectiveRateLimit` is the one of rate-limit-state.ts; nil is no limit. */
const PRELUDE = `
local state = KEYS[1]
local now = exactClock()
local kept = redis.call('HMGET', state, 'manual', 'configured', 'fellFor', 'fellFrom', 'fellTo',
  'risesFrom', 'recoveryMs', 'nextAt')
local fellFor, from, to = kept[3], tonumber(kept[4] or nil), tonumber(kept[5] or nil)

local function text(number) return string.format('%.3f', number) end
local function effectiveRateLimit(configured)
  local limit = tonumber(kept[1] or configured)
  local risen = math.huge
  if to then
    local slope = (limit > 0 and limit or from) / tonumber(kept[7])
    risen = to + slope * math.max(0, now - tonumber(kept[6]))
  end
  if limit > 0 then return math.min(limit, risen) end
  if to and from >= ${LEAST_OBSERVED} and risen < ${RECOVERED_AT} * from then return risen end
  return nil
end
`;

/** The answer to a process that asks for permits. Milliseconds from now. */
export type Permits =
  /** There is no limit. */
  | { readonly kind: 'unlimited' }
  /** The next permit is further ahead than {@link REACH_MS}; the lanes are blocked until it is near. */
  | { readonly kind: 'none'; readonly inMs: number }
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
 * KEYS: the hash, and BullMQ's limiter keys, one for each queue. ARGV: RATE_LIMIT of this process, number
 * of permits wanted.
 */
export const takePermits = defineScript({
  name: 'takePermits',
  keys: 3,
  lua: `${PRELUDE}
local configured, wanted = ARGV[1], tonumber(ARGV[2])
local blocked = 9007199254740991
local function isBlocked(key) return tonumber(redis.call('GET', key) or 0) >= blocked end
if configured ~= (kept[2] or '0') then
  alsoWhenFull()
  redis.call('HSET', state, 'configured', configured)
end
if to and tonumber(kept[6]) > now and not isBlocked(KEYS[2]) then
  redis.call('HSET', state, 'risesFrom', text(now))
end
local rate = effectiveRateLimit(configured)
if not rate then
  return { 'unlimited' }
end
alsoWhenFull()
local gap = 1000 / rate
local at = math.max(tonumber(kept[8] or 0), now)
if at > now + ${REACH_MS} + 1000 then
  -- No permit is ever issued that far ahead: the clock went back.
  at = now
end
local left = now + ${REACH_MS} - at
if left < 0 then
  local ms = math.ceil(at - now - ${REACH_MS / 2})
  for index = 2, #KEYS do
    if not isBlocked(KEYS[index]) or redis.call('PTTL', KEYS[index]) < ms then
      redis.call('SET', KEYS[index], blocked, 'PX', ms)
    end
  end
  return { 'none', text(at - now) }
end
local worth = math.min(${PORTION_MS}, left / 4)
local count = math.min(wanted, math.max(1, math.floor(worth / gap)))
redis.call('HSET', state, 'nextAt', text(at + count * gap))
return { 'permits', count, text(at - now), text(gap) }`,
  parse: (reply: unknown): Permits => {
    const [kind, first, firstInMs, gapMs] = reply as [string, unknown, unknown, unknown];
    switch (kind) {
      case 'permits':
        return { kind, count: Number(first), firstInMs: Number(firstInMs), gapMs: Number(gapMs) };
      case 'none':
        return { kind, inMs: Number(first) };
      default:
        return { kind: 'unlimited' };
    }
  },
});

/** The answer to a 429. Rates are requests per second. */
export interface DecreaseAnswer {
  /** False when the 429 belongs to a hold that has already decreased the limit. */
  readonly decreased: boolean;
  readonly from: number;
  readonly to: number;
}

/**
 * Decreases the limit after 429s: once a second, or once for a hold. It rises again from the hold's next probe on.
 * Without a limit it decreases from the rate of this process times the number of workers, which share the work.
 *
 * KEYS: the hash of the rate limit, the hash of the hold, the workers. ARGV: RATE_LIMIT of this process,
 * lowest limit, share that is left after a decrease (0 to 1), RATE_LIMIT_RECOVERY_MS, requests per
 * second of this process, channel.
 */
export const decreaseRateLimit = defineScript({
  name: 'decreaseRateLimit',
  keys: 3,
  lua: `${PRELUDE}
local floor, part, channel = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[6]
local hold = redis.call('HMGET', KEYS[2], 'since', 'nextProbeAt')
local cause = hold[1] or string.format('s%d', now / 1000)
local fellAt = tonumber(redis.call('HGET', state, 'fellAt') or 0)
local isSameSecond = now - fellAt < 1000 and (not hold[1] or string.sub(fellFor or '', 1, 1) == 's')
local risesFrom = math.max(tonumber(hold[2] or 0), now)
alsoWhenFull()
if fellFor and (fellFor == cause or isSameSecond) then
  if risesFrom > tonumber(kept[6]) then redis.call('HSET', state, 'risesFrom', text(risesFrom)) end
  return { 0, text(from), text(to) }
end
local workers = math.max(1, redis.call('ZCARD', KEYS[3]))
local refused = effectiveRateLimit(ARGV[1]) or tonumber(ARGV[5]) * workers
local left = math.max(floor, refused * part)
redis.call('HSET', state, 'fellAt', text(now), 'fellFor', cause, 'fellFrom', text(refused),
  'fellTo', text(left), 'risesFrom', text(risesFrom), 'recoveryMs', ARGV[4])
redis.call('PUBLISH', channel, 'changed')
return { 1, text(refused), text(left) }`,
  parse: (reply: unknown): DecreaseAnswer => {
    const [decreased, from, to] = reply as [number, string, string];
    return { decreased: decreased === 1, from: Number(from), to: Number(to) };
  },
});

/**
 * Sets the limit manually, or returns to the configured one (''). Forgets the last decrease.
 *
 * KEYS: the hash. ARGV: requests per second, channel.
 */
export const setRateLimit = defineScript({
  name: 'setRateLimit',
  keys: 1,
  lua: `
local state = KEYS[1]
if ARGV[1] == '' then
  redis.call('HDEL', state, 'manual')
else
  redis.call('HSET', state, 'manual', ARGV[1])
end
redis.call('HDEL', state, 'fellAt', 'fellFor', 'fellFrom', 'fellTo', 'risesFrom', 'recoveryMs')
redis.call('PUBLISH', ARGV[2], 'changed')
return 1`,
});

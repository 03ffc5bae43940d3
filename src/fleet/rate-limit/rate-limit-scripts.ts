import { defineScript } from '../../redis/script.ts';
import { BEYOND, LEAST_OBSERVED } from './rate-limit-state.ts';

/**
 * The moves of the pace (see rate-limiter.ts), each one script, so that a fleet moves as one. KEYS[1] of all
 * is the pace's hash. Of its fields, `nextAt` is the time of the next slot that nobody has taken.
 */

/** No slot is handed out that lies further ahead, in milliseconds: a job waits no longer than so. */
export const REACH_MS = 1_000;

/** So much time's worth of slots at most is handed out at once, in milliseconds. */
const PORTION_MS = 100;

/** Shared by the scripts. `effectiveRateLimit` is the one of rate-limit-state.ts; nil is no limit. */
const PRELUDE = `
local pace = KEYS[1]
local now = exactClock()
local kept = redis.call('HMGET', pace, 'byHand', 'configured', 'fellFor', 'fellFrom', 'fellTo',
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
  if to and from >= ${LEAST_OBSERVED} and risen < ${BEYOND} * from then return risen end
  return nil
end
`;

/** What a process is told that asks for slots. Milliseconds from now. */
export type Permits =
  /** Nothing limits. */
  | { readonly kind: 'free' }
  /** The next slot lies beyond reach; the lanes stand until it comes near. */
  | { readonly kind: 'far'; readonly inMs: number }
  /** So many slots, the first one then, the others each so much later. */
  | {
      readonly kind: 'slots';
      readonly count: number;
      readonly firstInMs: number;
      readonly gapMs: number;
    };

/**
 * Takes slots: one after the other on one line for the whole account, so that they never lie closer
 * than the pace allows, whoever takes them (a generic cell rate algorithm without a burst).
 *
 * At most {@link PORTION_MS} worth at once, and a quarter of what is left within reach: so the last
 * to ask still finds some, however many processes there are. Where none is left the lanes' limiters
 * stand until half of the reach is free again; a hold that stands for longer is left alone.
 *
 * KEYS: pace, and BullMQ's limiter keys, one for each queue. ARGV: PACE of this process, wanted.
 */
export const takePermits = defineScript({
  name: 'takePermits',
  keys: 3,
  lua: `${PRELUDE}
local configured, wanted = ARGV[1], tonumber(ARGV[2])
if configured ~= (kept[2] or '0') then redis.call('HSET', pace, 'configured', configured) end
local rate = effectiveRateLimit(configured)
if not rate then
  return { 'free' }
end
local gap = 1000 / rate
local at = math.max(tonumber(kept[8] or 0), now)
if at > now + ${REACH_MS} + 1000 then
  -- A clock went back: no slot was ever handed out that far ahead.
  at = now
end
local left = now + ${REACH_MS} - at
if left < 0 then
  local stands, ms = 9007199254740991, math.ceil(at - now - ${REACH_MS / 2})
  for index = 2, #KEYS do
    local held = tonumber(redis.call('GET', KEYS[index]) or 0) >= stands
    if not held or redis.call('PTTL', KEYS[index]) < ms then
      redis.call('SET', KEYS[index], stands, 'PX', ms)
    end
  end
  return { 'far', text(at - now) }
end
local worth = math.min(${PORTION_MS}, left / 4)
local count = math.min(wanted, math.max(1, math.floor(worth / gap)))
redis.call('HSET', pace, 'nextAt', text(at + count * gap))
return { 'slots', count, text(at - now), text(gap) }`,
  parse: (reply: unknown): Permits => {
    const [kind, first, firstInMs, gapMs] = reply as [string, unknown, unknown, unknown];
    switch (kind) {
      case 'slots':
        return {
          kind,
          count: Number(first),
          firstInMs: Number(firstInMs),
          gapMs: Number(gapMs),
        };
      case 'far':
        return { kind, inMs: Number(first) };
      default:
        return { kind: 'free' };
    }
  },
});

/** What became of the pace after a 429. */
export interface DecreaseAnswer {
  /** False where the 429 belongs to a hold that has made the pace fall before. */
  readonly fell: boolean;
  readonly from: number;
  readonly to: number;
  /** No pace was in force: `from` is what this process has sent, and others add theirs. */
  readonly observed: boolean;
}

const parseFall = (reply: unknown): DecreaseAnswer => {
  const [fell, from, to, observed] = reply as [number, string, string, number];
  return { fell: fell === 1, from: Number(from), to: Number(to), observed: observed === 1 };
};

/**
 * The service has asked for a slower pace. The pace falls once for each hold, and rises from the
 * hold's next probe on. Where none was in force it falls from the rate of this process, and the hint
 * asks the others for theirs.
 *
 * KEYS: pace, the hold's hash. ARGV: PACE of this process, PACE_FLOOR, what is left after a fall (0
 * to 1), PACE_RECOVERY_MS, send calls a second of this process lately, its id, channel.
 */
export const decreaseRateLimit = defineScript({
  name: 'decreaseRateLimit',
  keys: 2,
  lua: `${PRELUDE}
local floor, part, channel = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[7]
local hold = redis.call('HMGET', KEYS[2], 'since', 'nextProbeAt')
local cause = hold[1] or text(now)
local risesFrom = math.max(tonumber(hold[2] or 0), now)
if fellFor == cause then
  if risesFrom > tonumber(kept[6]) then redis.call('HSET', pace, 'risesFrom', text(risesFrom)) end
  return { 0, text(from), text(to), 0 }
end
local refused = effectiveRateLimit(ARGV[1])
local hint = 'changed'
if not refused then
  refused = tonumber(ARGV[5])
  hint = 'observed ' .. cause .. ' ' .. ARGV[6]
end
local left = math.max(floor, refused * part)
redis.call('HSET', pace, 'fellAt', text(now), 'fellFor', cause, 'fellFrom', text(refused),
  'fellTo', text(left), 'risesFrom', text(risesFrom), 'recoveryMs', ARGV[4])
redis.call('PUBLISH', channel, hint)
return { 1, text(refused), text(left), hint == 'changed' and 0 or 1 }`,
  parse: parseFall,
});

/**
 * Adds the rate of another process to what was observed when nothing limited.
 *
 * KEYS: pace. ARGV: which fall, PACE_FLOOR, what is left after a fall, send calls a second, channel.
 */
export const reportRate = defineScript({
  name: 'reportRate',
  keys: 1,
  lua: `${PRELUDE}
if fellFor ~= ARGV[1] then
  return 0
end
local refused = from + tonumber(ARGV[4])
local left = math.max(tonumber(ARGV[2]), refused * tonumber(ARGV[3]))
redis.call('HSET', pace, 'fellFrom', text(refused), 'fellTo', text(left))
redis.call('PUBLISH', ARGV[5], 'changed')
return 1`,
});

/**
 * A person sets the pace, or gives it back to the configuration (''). What had fallen is forgotten.
 *
 * KEYS: pace. ARGV: send calls a second, channel.
 */
export const setRateLimit = defineScript({
  name: 'setRateLimit',
  keys: 1,
  lua: `
local pace = KEYS[1]
if ARGV[1] == '' then
  redis.call('HDEL', pace, 'byHand')
else
  redis.call('HSET', pace, 'byHand', ARGV[1])
end
redis.call('HDEL', pace, 'fellAt', 'fellFor', 'fellFrom', 'fellTo', 'risesFrom', 'recoveryMs')
redis.call('PUBLISH', ARGV[2], 'changed')
return 1`,
});

import { defineScript } from '../../redis/script.ts';

/**
 * The transitions of a hold (see hold-gate.ts), one script each, so that they are atomic for the fleet.
 *
 * KEYS of all: the hold's hash, the probe's nonce, and BullMQ's limiter keys, one for each queue.
 */

/**
 * Shared by the scripts. The time of the next probe is in the hash and is never moved closer; the
 * limiter keys follow it. A limiter key contains a small counter of BullMQ while the queue is open, and
 * BLOCKED while it is held; only BLOCKED may be extended or removed here.
 */
export const HOLD_PRELUDE = `
local hold, probe = KEYS[1], KEYS[2]
local now = clock()
local BLOCKED = 9007199254740991

-- Such a hold has no probe: only a person lifts it.
local function isManual(kind) return kind == 'manual' or kind == 'restored' end
local function block(ms)
  for index = 3, 4 do redis.call('SET', KEYS[index], BLOCKED, 'PX', ms) end
end
local function unblock()
  for index = 3, 4 do
    if tonumber(redis.call('GET', KEYS[index]) or 0) >= BLOCKED then redis.call('DEL', KEYS[index]) end
  end
end
`;

/**
 * Places a hold, or extends the one in effect. A manual hold stays as it is.
 *
 * ARGV: kind ('' for the hold in effect: its probe was inconclusive), code, milliseconds to the next
 * probe (0: by the number of failed probes), shortest and longest interval of probes, nonce of the probe
 * that failed ('' when it was no probe), channel. Answers the time of the next probe.
 */
export const placeHold = defineScript({
  name: 'placeHold',
  keys: 4,
  lua: `${HOLD_PRELUDE}
local kind, code, forMs, nonce = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[6]
local current = redis.call('HMGET', hold, 'kind', 'since', 'nextProbeAt', 'failedProbes')
if isManual(current[1]) then
  return tonumber(current[3]) or 0
end
if kind == '' then
  if not current[1] then
    return 0
  end
  kind, code = current[1], redis.call('HGET', hold, 'code') or ''
end
local since, nextProbeAt, failed = now, 0, 0
if current[1] then
  nextProbeAt = tonumber(current[3]) or 0
  if current[1] == kind then
    since = tonumber(current[2]) or now
    failed = tonumber(current[4]) or 0
  end
end
if nonce ~= '' and redis.call('GET', probe) == nonce then
  redis.call('DEL', probe)
  failed = failed + 1
end
if forMs <= 0 then
  forMs = math.min(tonumber(ARGV[4]) * 2 ^ math.min(failed, 30), tonumber(ARGV[5]))
end
nextProbeAt = math.max(nextProbeAt, now + math.ceil(forMs))
block(nextProbeAt - now)
redis.call('HSET', hold, 'kind', kind, 'code', code, 'since', since, 'nextProbeAt', nextProbeAt,
  'failedProbes', failed)
redis.call('PEXPIRE', hold, nextProbeAt - now + 86400000)
redis.call('PUBLISH', ARGV[7], kind)
return nextProbeAt`,
});

/**
 * Asks to make an attempt. ARGV: nonce, how long a probe may take. Answers ['open'], ['probe', kind] or
 * ['wait', ms].
 */
export const enterHold = defineScript({
  name: 'enterHold',
  keys: 4,
  lua: `${HOLD_PRELUDE}
local current = redis.call('HMGET', hold, 'kind', 'nextProbeAt')
if not current[1] then
  return { 'open' }
end
if isManual(current[1]) then
  block(60000)
  return { 'wait', 60000 }
end
local rest = (tonumber(current[2]) or 0) - now
if rest <= 0 then
  local ttl = tonumber(ARGV[2])
  if redis.call('SET', probe, ARGV[1], 'NX', 'PX', ttl) then
    block(ttl)
    return { 'probe', current[1] }
  end
  rest = redis.call('PTTL', probe)
  if rest < 0 or rest > ttl then
    -- A clock went back: no probe takes longer than its ttl.
    redis.call('PEXPIRE', probe, ttl)
    rest = ttl
  end
end
block(math.max(rest, 1))
return { 'wait', rest }`,
});

/** Lifts the hold if this probe is still the current one. ARGV: nonce, channel. Answers 1 or 0. */
export const liftHoldByProbe = defineScript({
  name: 'liftHoldByProbe',
  keys: 4,
  lua: `${HOLD_PRELUDE}
if redis.call('GET', probe) ~= ARGV[1] then
  return 0
end
redis.call('DEL', hold, probe)
unblock()
redis.call('PUBLISH', ARGV[2], '')
return 1`,
});

/** Ends a probe that made no request (its job was requeued): another job may probe at once. ARGV: nonce. */
export const releaseProbe = defineScript({
  name: 'releaseProbe',
  keys: 4,
  lua: `${HOLD_PRELUDE}
if redis.call('GET', probe) ~= ARGV[1] then
  return 0
end
redis.call('DEL', probe)
unblock()
return 1`,
});

/** Lifetime of a hold that only a person lifts, in milliseconds. */
export const MANUAL_HOLD_MS = 365 * 24 * 3_600_000;

/**
 * Holds the queue manually. Replaces an automatic hold, but not `restored`: a person who lifts that one
 * must have read its report. ARGV: why, channel.
 */
export const placeManual = defineScript({
  name: 'placeManual',
  keys: 4,
  lua: `${HOLD_PRELUDE}
local kind = redis.call('HGET', hold, 'kind')
if kind == 'restored' then return 0 end
if kind ~= 'manual' then
  redis.call('DEL', hold, probe)
  redis.call('HSET', hold, 'kind', 'manual', 'since', now, 'nextProbeAt', 0, 'failedProbes', 0)
end
redis.call('HSET', hold, 'code', ARGV[1])
redis.call('PEXPIRE', hold, ${MANUAL_HOLD_MS})
block(${MANUAL_HOLD_MS})
redis.call('PUBLISH', ARGV[2], 'manual')
return 1`,
});

/** Lifts the hold in effect, of any kind. ARGV: channel. Answers its kind, or ''. */
export const liftManual = defineScript({
  name: 'liftManual',
  keys: 4,
  lua: `${HOLD_PRELUDE}
local kind = redis.call('HGET', hold, 'kind') or ''
redis.call('DEL', hold, probe)
unblock()
redis.call('PUBLISH', ARGV[1], '')
return kind`,
});

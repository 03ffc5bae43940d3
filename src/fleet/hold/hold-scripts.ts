import { defineScript } from '../../redis/script.ts';

/**
 * The moves of a hold (see hold-gate.ts), each one script, so that a fleet moves as one.
 *
 * KEYS of all: the hold's hash, the probe's nonce, and BullMQ's limiter keys, one for each queue.
 */

/**
 * Shared by the scripts. What must never be shortened is the time of the next probe, and that is in
 * the hash; the limiter only follows it. `now` is Redis time. BullMQ's limiter holds a small counter while the
 * queue flows and this large number while it stands; only the latter is ours to extend or remove.
 */
export const HOLD_PRELUDE = `
local hold, probe = KEYS[1], KEYS[2]
local now = clock()
local STANDS = 9007199254740991

-- Only a person ends such a hold: it has no probe.
local function endsByHand(kind) return kind == 'manual' or kind == 'restored' end
local function stand(ms)
  for index = 3, 4 do redis.call('SET', KEYS[index], STANDS, 'PX', ms) end
end
local function flow()
  for index = 3, 4 do
    if tonumber(redis.call('GET', KEYS[index]) or 0) >= STANDS then redis.call('DEL', KEYS[index]) end
  end
end
`;

/**
 * ARGV: kind ('' for the one in force: its probe did not settle it), code, milliseconds to the next probe (0: by the number of failed probes), shortest
 * and longest distance of probes, nonce of the probe that met this ('' when it was no probe),
 * channel. Answers the time of the next probe.
 */
export const placeHold = defineScript({
  name: 'placeHold',
  keys: 4,
  lua: `${HOLD_PRELUDE}
local kind, code, forMs, nonce = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[6]
local current = redis.call('HMGET', hold, 'kind', 'since', 'nextProbeAt', 'failedProbes')
if endsByHand(current[1]) then
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
stand(nextProbeAt - now)
redis.call('HSET', hold, 'kind', kind, 'code', code, 'since', since, 'nextProbeAt', nextProbeAt,
  'failedProbes', failed)
redis.call('PEXPIRE', hold, nextProbeAt - now + 86400000)
redis.call('PUBLISH', ARGV[7], kind)
return nextProbeAt`,
});

/**
 * ARGV: nonce, how long a probe may take. Answers ['open'], ['probe', kind] or ['wait', ms].
 */
export const enterHold = defineScript({
  name: 'enterHold',
  keys: 4,
  lua: `${HOLD_PRELUDE}
local current = redis.call('HMGET', hold, 'kind', 'nextProbeAt')
if not current[1] then
  return { 'open' }
end
if endsByHand(current[1]) then
  stand(60000)
  return { 'wait', 60000 }
end
local rest = (tonumber(current[2]) or 0) - now
if rest <= 0 then
  local ttl = tonumber(ARGV[2])
  if redis.call('SET', probe, ARGV[1], 'NX', 'PX', ttl) then
    stand(ttl)
    return { 'probe', current[1] }
  end
  rest = redis.call('PTTL', probe)
  if rest < 0 or rest > ttl then
    -- A clock went back: nobody probes for longer than a probe may take.
    redis.call('PEXPIRE', probe, ttl)
    rest = ttl
  end
end
stand(math.max(rest, 1))
return { 'wait', rest }`,
});

/** ARGV: nonce, channel. Ends the hold if this probe is the one in force; answers 1 or 0. */
export const liftAuditedHold = defineScript({
  name: 'liftAuditedHold',
  keys: 4,
  lua: `${HOLD_PRELUDE}
if redis.call('GET', probe) ~= ARGV[1] then
  return 0
end
redis.call('DEL', hold, probe)
flow()
redis.call('PUBLISH', ARGV[2], '')
return 1`,
});

/**
 * ARGV: nonce. The probe ended without an answer to the question (its job was given back): another
 * job may probe at once.
 */
export const releaseProbe = defineScript({
  name: 'releaseProbe',
  keys: 4,
  lua: `${HOLD_PRELUDE}
if redis.call('GET', probe) ~= ARGV[1] then
  return 0
end
redis.call('DEL', probe)
flow()
return 1`,
});

/** A hold that only a person ends outlives any that comes by itself. */
export const MANUAL_HOLD_MS = 365 * 24 * 3_600_000;

/**
 * ARGV: why, channel. A person holds the queue; takes the place of a hold that came by itself, but not
 * of `restored`: who lifts that one must have read what it says.
 */
export const placeManualHoldScript = defineScript({
  name: 'placeManualHoldScript',
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
stand(${MANUAL_HOLD_MS})
redis.call('PUBLISH', ARGV[2], 'manual')
return 1`,
});

/** ARGV: channel. A person ends whatever holds the queue; answers the kind of it, or ''. */
export const liftManualHoldScript = defineScript({
  name: 'liftManualHoldScript',
  keys: 4,
  lua: `${HOLD_PRELUDE}
local kind = redis.call('HGET', hold, 'kind') or ''
redis.call('DEL', hold, probe)
flow()
redis.call('PUBLISH', ARGV[1], '')
return kind`,
});

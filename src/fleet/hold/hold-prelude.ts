import type { Keys } from '../../redis/keys.ts';
import { READ_WITNESS } from './witness.ts';

/**
 * KEYS of the transitions of a hold (see hold-gate.ts), which are one script each, so that they are atomic
 * for the fleet: the hold's hash, the probe's nonce, and BullMQ's limiter keys, one for each queue. Some
 * scripts take the evidence, the witnesses and the record of the token, too.
 */
export const transitionKeys = (keys: Keys): readonly string[] => [
  keys.hold,
  keys.holdProbe,
  keys.limiter,
  keys.chunkLimiter,
];

/**
 * Shared by the scripts. The time of the next probe is in the hash and is never moved closer; the
 * limiter keys follow it. A limiter key contains a small counter of BullMQ while the queue is open, and
 * BLOCKED while it is held; only BLOCKED may be extended or removed here.
 */
export const HOLD_PRELUDE = `
local hold, probe = KEYS[1], KEYS[2]
local now = clock()
local BLOCKED = 9007199254740991

-- Times in the hash are Redis time. One that was set later than now is from before the clock went back: then the
-- distance of the probe begins anew, so that no hold lasts longer than that.
local function nextProbe()
  local set = redis.call('HMGET', hold, 'nextProbeAt', 'setAt')
  local at, setAt = tonumber(set[1] or 0) or 0, tonumber(set[2] or 0) or 0
  if setAt > now then
    at = now + at - setAt
    redis.call('HSET', hold, 'nextProbeAt', at, 'setAt', now)
  end
  return at
end
-- How long a probe that is under way may take; a longer time is from before the clock went back.
local function probeRest(ttl)
  local rest = redis.call('PTTL', probe)
  if rest ~= -2 and (rest < 0 or rest > ttl) then
    redis.call('PEXPIRE', probe, ttl)
    rest = ttl
  end
  return rest
end
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
 * Places a hold, or extends the one in effect; a manual hold stays as it is. An extension of the same kind
 * continues its count of failed probes; another kind starts again. Answers the time of the next probe.
 */
export const PLACE_HOLD = `
local function placeHold(kind, code, forMs, shortest, longest, probeFailed, channel)
  local current = redis.call('HMGET', hold, 'kind', 'since', 'failedProbes')
  if isManual(current[1]) then return nextProbe() end
  local since, nextProbeAt, failed = now, nextProbe(), 0
  if current[1] == kind then
    since = tonumber(current[2]) or now
    failed = tonumber(current[3]) or 0
  end
  if probeFailed then failed = failed + 1 end
  if forMs <= 0 then forMs = math.min(shortest * 2 ^ math.min(failed, 30), longest) end
  nextProbeAt = math.max(nextProbeAt, now + math.ceil(forMs))
  block(nextProbeAt - now)
  redis.call('HSET', hold, 'kind', kind, 'code', code, 'since', since, 'nextProbeAt', nextProbeAt,
    'setAt', now, 'failedProbes', failed, 'passed', 0, 'shortest', shortest, 'longest', longest)
  redis.call('PEXPIRE', hold, nextProbeAt - now + 86400000)
  redis.call('PUBLISH', channel, kind)
  return nextProbeAt
end
`;

/** As {@link HOLD_PRELUDE}, with the evidence about refusals (evidence-scripts.ts). */
export const EVIDENCE_PRELUDE = `${HOLD_PRELUDE}${PLACE_HOLD}
local evidence, witness, currentToken = KEYS[5], KEYS[6], KEYS[7]

local function count(field) return tonumber(redis.call('HGET', evidence, field) or 0) or 0 end
${READ_WITNESS}local function witnessOf(job) return readWitness(redis.call('HGET', witness, job)) end
-- An acceptance that began after so many meetings were known. Later ones are still asked for.
-- False when the token is not the current one: it is still to be proven.
local function prove(token, upTo, channel)
  if upTo <= count('provenUpTo') or upTo > count('meetings') then return true end
  if redis.call('HGET', currentToken, 'id') ~= token then return false end
  local more = count('meetings') > upTo
  redis.call('HINCRBY', evidence, 'proof', 1)
  redis.call('HSET', evidence, 'provenUpTo', upTo, 'provenToken', token, 'askedAt', more and now or 0,
    'hintAt', more and now or 0, 'refusedRow', 0, 'unknownRow', 0)
  redis.call('PUBLISH', channel, string.format('proven:%d', upTo))
  if more then redis.call('PUBLISH', channel, string.format('ask:%d', count('meetings'))) end
  return true
end
`;

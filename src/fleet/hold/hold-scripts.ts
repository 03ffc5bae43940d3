import { DONE_MS, type Keys } from '../../redis/keys.ts';
import { defineScript } from '../../redis/script.ts';
import { KEPT_MS } from './next-probe.ts';
import { READ_WITNESS } from './witness.ts';

/**
 * A job that met the hold, or was possibly sent, leaves the probe to others for this long; four times as
 * long when it was possibly sent four times. Twice the time in which workers fetch after a hold. The probe of
 * `credentials` or `address` is left to others only by jobs that met the hold.
 */
export const ASIDE_STEP_MS = 500;

/**
 * So many jobs of the fleet leave a probe to others within {@link ASIDE_STEP_MS}. Where every waiting job met the
 * hold, each costs Redis some sixty commands for nothing; counted for each probe, they cost more the sooner the next
 * one comes.
 */
export const MOST_ASIDE = 25;

/** While the probe is kept for another job, the jobs that asked for it are fetched again this soon. */
const KEPT_STEP_MS = 50;

/** Acceptances without a failed probe in between that lift the hold `failing`: with 90 % of requests failing one proves little. */
const PASSES = 3;

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
const PLACE = `
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
export const EVIDENCE_PRELUDE = `${HOLD_PRELUDE}${PLACE}
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

/**
 * A probe was inconclusive: the next one comes later. ARGV: nonce, channel, shortest and longest interval
 * where the hold has none of its own.
 */
export const undecidedProbe = defineScript({
  name: 'undecidedProbe',
  keys: 4,
  lua: `${HOLD_PRELUDE}${PLACE}
if redis.call('GET', probe) ~= ARGV[1] then return 0 end
redis.call('DEL', probe)
local current = redis.call('HMGET', hold, 'kind', 'code', 'shortest', 'longest')
if not current[1] then return 0 end
return placeHold(current[1], current[2] or '', 0, tonumber(current[3] or ARGV[3]),
  tonumber(current[4] or ARGV[4]), true, ARGV[2])`,
});

/**
 * Asks to make an attempt. ARGV: nonce, how long a probe may take, job, how often it was possibly sent.
 * Answers ['open'], ['probe', kind], ['wait', ms], or ['aside', ms] where others should probe first. The
 * same nonce gets the same answer.
 */
export const enterHold = defineScript({
  name: 'enterHold',
  keys: 7,
  lua: `${EVIDENCE_PRELUDE}
-- Whether the probe is kept for a job that was chosen (next-probe.ts), and this is another one.
local function isKeptFromOthers(job)
  local isKept = false
  for _, one in ipairs(redis.call('HMGET', hold, 'next', 'nextChunk')) do
    if one == job then return false end
    local other = one and witnessOf(one)
    isKept = isKept or (one and not (other and (other.refused or other.unknown or other.held)))
  end
  return isKept
end
-- Whether one more job may leave the probe to others.
local function mayLeave()
  local since = tonumber(redis.call('HGET', hold, 'asideSince') or 0) or 0
  if since > now or now - since >= ${ASIDE_STEP_MS} then
    redis.call('HSET', hold, 'asideSince', now, 'aside', 0)
  end
  return redis.call('HINCRBY', hold, 'aside', 1) <= ${MOST_ASIDE}
end
local kind = redis.call('HGET', hold, 'kind')
if not kind then
  return { 'open' }
end
if isManual(kind) then
  block(60000)
  return { 'wait', 60000 }
end
local rest = nextProbe() - now
if rest <= 0 then
  local ttl = tonumber(ARGV[2])
  if redis.call('GET', probe) == ARGV[1] then return { 'probe', kind } end
  local met = witnessOf(ARGV[3])
  -- A refusal or a page took nothing, and what waits for all that met one may wait for hundreds.
  local isRefused = kind == 'credentials' or kind == 'address'
  local steps = isRefused and 0 or tonumber(ARGV[4])
  if met and (met.refused or met.unknown or met.held) then steps = steps + 1 end
  local aside = rest + math.min(steps, 4) * ${ASIDE_STEP_MS}
  if aside > 0 and redis.call('EXISTS', probe) == 0 and mayLeave() then return { 'aside', aside } end
  local kept = rest + ${KEPT_MS}
  if kept > 0 and isRefused and redis.call('EXISTS', probe) == 0 and isKeptFromOthers(ARGV[3]) then
    kept = math.min(kept, ${KEPT_STEP_MS})
    block(kept)
    return { 'wait', kept }
  end
  if redis.call('SET', probe, ARGV[1], 'NX', 'PX', ttl) then
    redis.call('HSET', hold, 'known', count('meetings'))
    block(ttl)
    return { 'probe', kind }
  end
  rest = probeRest(ttl)
end
block(math.max(rest, 1))
return { 'wait', rest }`,
});

/**
 * Ends a probe that the service answered (hold-gate.ts has the table): lifts the hold, or lets another
 * job probe at once. An acceptance also disproves what was met before it. ARGV: nonce, channel of holds,
 * channel of evidence, 'accepted' or 'rejected', id of the token. Answers 1 when the hold was lifted.
 */
export const endProbe = defineScript({
  name: 'endProbe',
  keys: 7,
  lua: `${EVIDENCE_PRELUDE}
if redis.call('GET', probe) ~= ARGV[1] then
  return 0
end
local kind = redis.call('HGET', hold, 'kind')
local another = false
if ARGV[4] == 'accepted' then
  prove(ARGV[5], tonumber(redis.call('HGET', hold, 'known') or 0), ARGV[3])
  another = kind == 'failing' and redis.call('HINCRBY', hold, 'passed', 1) < ${PASSES}
else
  another = kind == 'failing' or kind == 'credit' or kind == 'credentials'
end
if another then
  redis.call('DEL', probe)
  unblock()
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

/** No look at an open batch is put off for longer, in milliseconds (workers/maintenance/batch-walker.ts). */
const MOST_PUT_OFF_MS = 60_000;

/**
 * Bounds what the fleet waits for, after the clock of Redis went back: the times of these keys would come later by as
 * much. While BullMQ's limiter keys are there, no job comes to {@link enterHold}; without a hold they are those of a
 * rate limit, which sets them anew. Its marks that stalled jobs were looked for a moment ago are deleted: any worker may
 * look at any time. Changes nothing that lasts as long as it should. KEYS: as the holds, these marks, the open
 * batches by the time of their next look. ARGV: how long a probe may take.
 */
export const boundFleet = defineScript({
  name: 'boundFleet',
  keys: 7,
  lua: `${HOLD_PRELUDE}
redis.call('DEL', KEYS[5], KEYS[6])
local late = redis.call('ZRANGEBYSCORE', KEYS[7], '(' .. (now + ${MOST_PUT_OFF_MS}), '+inf')
for _, id in ipairs(late) do redis.call('ZADD', KEYS[7], now, id) end
local kind = redis.call('HGET', hold, 'kind')
if isManual(kind) then return 0 end
local rest, probeEnds = kind and nextProbe() - now or 0, probeRest(tonumber(ARGV[1]))
if rest <= 0 then rest = probeEnds end
if rest > 0 then block(rest) else unblock() end
return 0`,
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

/**
 * Lifts the hold in effect. KEYS: also the mark of the request, so that it answers the same when it is repeated. ARGV:
 * channel, the kind of the hold that was seen, or '' for any. Answers the kind of the hold in effect, or ''; with another
 * one than was seen, nothing is lifted.
 */
export const liftManual = defineScript({
  name: 'liftManual',
  keys: 5,
  lua: `${HOLD_PRELUDE}
local done = redis.call('GET', KEYS[5])
if done then return done end
local kind = redis.call('HGET', hold, 'kind') or ''
if kind ~= '' and ARGV[2] ~= '' and kind ~= ARGV[2] then return kind end
redis.call('DEL', hold, probe)
unblock()
redis.call('PUBLISH', ARGV[1], '')
redis.call('SET', KEYS[5], kind, 'PX', ${DONE_MS})
return kind`,
});

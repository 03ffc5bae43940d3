import { defineScript } from '../../redis/script.ts';
import { EVIDENCE_PRELUDE, HOLD_PRELUDE, PLACE_HOLD } from './hold-prelude.ts';
import { KEPT_MS } from './next-probe.ts';

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
 * A probe was inconclusive: the next one comes later. ARGV: nonce, channel, shortest and longest interval
 * where the hold has none of its own.
 */
export const undecidedProbe = defineScript({
  name: 'undecidedProbe',
  keys: 4,
  lua: `${HOLD_PRELUDE}${PLACE_HOLD}
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

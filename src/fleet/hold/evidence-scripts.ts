import { defineScript } from '../../redis/script.ts';
import { EVIDENCE_PRELUDE } from './hold-prelude.ts';
import { ASIDE_STEP_MS } from './hold-scripts.ts';
import { PROBE_NEXT } from './next-probe.ts';

/*
 * The record of evidence (evidence.ts describes it). Two keys:
 *
 * - evidence, hash: `meetings` counts what jobs met, `provenUpTo` is the last of them that an acceptance
 *   came after, with `provenToken`, `proof` counts such acceptances; `askedAt` is the time since which one is asked for, 0 for
 *   none; `hintAt` the time of the last hint; `refusedRow` and `unknownRow` the number of different notices
 *   that met a refusal or page, or an unknown outcome, since the last proof.
 * - witness, hash: what each job met. Of refusals and pages, and apart from them of all else (`troubles`): number of
 *   the last meeting, 0 for none, and contradictions; the token, where the last of them was a refusal. Then `proof` at the last
 *   meeting, whether the job counts in either row, and the attempt with its verdict, so that a repeated script changes
 *   nothing. Expires after an hour without a meeting, and is deleted at 10,000 jobs: the next meeting of a job then
 *   counts as its first. A version that does not know this form reads none, which is the same.
 */

/** Place of the evidence in the keys of the scripts. */
export const EVIDENCE_KEY = 4;

/** So many different notices without an acceptance between them make a hold. */
export const ROW = 3;

/** And so long must have been asked for an acceptance, in milliseconds; not for unknown outcomes. */
export const QUIET_MS = 1_000;

/**
 * So often must others have been accepted between two 429s of a job before an attempt is counted: a limit of the
 * account also takes some and refuses others, and must not use up the attempts of good notices.
 */
export const THROTTLED_CONTRADICTIONS = 5;

/** Pause before a hint that was not answered is repeated. */
const HINT_AGAIN_MS = 250;

const WITNESS_MS = 3_600_000;
const MOST_WITNESSES = 10_000;

/**
 * Longest time after which a job that met a hold waits again, behind the others. It is short, so that the job
 * is sent soon after the hold is lifted, also by a person; while the queue is held no waiting job is fetched.
 */
const MOST_BEHIND_MS = 2_000;

/**
 * Records what a job met, and decides. KEYS: as the holds, evidence, witness, token, the lists of
 * waiting jobs of both lanes, and the notices with a priority. ARGV: job, attempt, class, kind of hold, code, token, nonce of its probe,
 * milliseconds to the next probe (0: by failed probes), shortest and longest interval of probes,
 * contradictions after which it is the job's own fault (0: never), channels of holds and of evidence.
 * Answers ['held', ms until the job may come again], ['counted', 1 when disproved, 1 when it is the first
 * meeting of the job], or ['own'].
 */
export const meet = defineScript({
  name: 'meetHold',
  keys: 10,
  lua: `${EVIDENCE_PRELUDE}${PROBE_NEXT}
local job, id, class, kind, code, token, nonce = unpack(ARGV, 1, 7)
local forMs, shortest, longest, own = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10]),
  tonumber(ARGV[11])
local holdChannel, channel = ARGV[12], ARGV[13]

local function behind()
  local rest = math.min(math.max(nextProbe() - now, 0), ${MOST_BEHIND_MS})
  return { 'held', rest + ${ASIDE_STEP_MS} }
end
local met = witnessOf(job)
if met and met.id == id then
  if met.verdict == 'held' then return behind() end
  if met.verdict == 'own' then return { 'own' } end
  return { 'counted', met.verdict == 'disproved' and 1 or 0, met.verdict == 'first' and 1 or 0 }
end

local meeting = redis.call('HINCRBY', evidence, 'meetings', 1)
-- What it met before of the same kind.
local kept = (class == 'refusal' or class == 'page') and 'refusals' or 'troubles'
local none = { at = 0, n = 0, token = '' }
local before = met and met[kept] or none
-- A refusal: refused, accepted and refused again with the same token.
local isSameToken = class ~= 'refusal' or (before.token == token
  and redis.call('HGET', evidence, 'provenToken') == token)
local disproved = before.at > 0 and before.at <= count('provenUpTo') and isSameToken
local n = before.n + (disproved and 1 or 0)
local inRefused = met ~= nil and met.refused
local inUnknown = met ~= nil and met.unknown
local function touch(verdict)
  if redis.call('HLEN', witness) >= ${MOST_WITNESSES} then redis.call('DEL', witness) end
  local its = met or {}
  -- A page says nothing of the token.
  its[kept] = { at = meeting, n = n, token = class == 'refusal' and token or '' }
  local refusals, troubles = its.refusals or none, its.troubles or none
  redis.call('HSET', witness, job, string.format('%d %d %s %d %d %d %d %d %s %s', refusals.at, refusals.n,
    refusals.token, troubles.at, troubles.n, count('proof'), inRefused and 1 or 0, inUnknown and 1 or 0, id, verdict))
  redis.call('PEXPIRE', witness, ${WITNESS_MS})
end
local asked = redis.call('HMGET', evidence, 'askedAt', 'hintAt')
local askedAt, hintAt = tonumber(asked[1] or 0), tonumber(asked[2] or 0)
if askedAt > now or hintAt > now then askedAt, hintAt = 0, 0 end
local function ask()
  if askedAt == 0 then redis.call('HSET', evidence, 'askedAt', now) end
  if askedAt > 0 and now - hintAt < ${HINT_AGAIN_MS} then return end
  redis.call('HSET', evidence, 'hintAt', now)
  redis.call('PUBLISH', channel, string.format('ask:%d', meeting))
end

local probing = nonce ~= '' and redis.call('GET', probe) == nonce
if probing then redis.call('DEL', probe) end
-- A probe that says nothing about the others: another job may probe at once.
local function counted()
  if probing then unblock() end
  touch(disproved and 'disproved' or met and 'counted' or 'first')
  return { 'counted', disproved and 1 or 0, (met or disproved) and 0 or 1 }
end
local function hasHold() return redis.call('EXISTS', hold) == 1 end
local function held(as, hasChosen)
  touch('held')
  if probing and not hasChosen then redis.call('HDEL', hold, 'next', 'nextChunk') end
  placeHold(as, code, forMs, shortest, longest, probing, holdChannel)
  return behind()
end

if class == 'always' then
  placeHold(kind, code, forMs, shortest, longest, probing, holdChannel)
  return { 'held', 0 }
end
ask()
if class == 'stated' then
  local least = kind == 'throttled' and ${THROTTLED_CONTRADICTIONS} or 1
  if disproved and n >= least then return counted() end
  return held(kind)
end
if class == 'unknown' then
  if not inUnknown then redis.call('HINCRBY', evidence, 'unknownRow', 1) end
  inUnknown = true
  local row = tonumber(redis.call('HGET', evidence, 'unknownRow') or 0)
  if hasHold() or row >= ${ROW} then return held(kind) end
  return counted()
end
if disproved then
  if own > 0 and n >= own then
    if probing then unblock() end
    touch('own')
    return { 'own' }
  end
  return counted()
end
if not inRefused then redis.call('HINCRBY', evidence, 'refusedRow', 1) end
inRefused = true
local row = tonumber(redis.call('HGET', evidence, 'refusedRow') or 0)
if hasHold() or (row >= ${ROW} and askedAt > 0 and now - askedAt >= ${QUIET_MS}) then
  if probing then probeNext(KEYS[8], KEYS[9], KEYS[10]) end
  return held(kind, true)
end
return counted()`,
});

/**
 * Records an acceptance that was asked for. KEYS: as {@link meet}, without the waiting jobs. ARGV: id of its token,
 * channel of evidence, number of the last meeting that was known before its request. Answers false when its token is not
 * the current one, so that it proves nothing.
 */
export const proveAccepted = defineScript({
  name: 'proveAccepted',
  keys: 7,
  parse: (reply: unknown) => reply === 1,
  lua: `${EVIDENCE_PRELUDE}
return prove(ARGV[1], tonumber(ARGV[3]), ARGV[2]) and 1 or 0`,
});

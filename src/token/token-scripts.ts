import { defineScript } from '../redis/script.ts';
import { parseDecision } from './acquire-decision.ts';

/** A token that is refused younger than this and than half of its known life, may have been replaced. */
const EARLY_MS = 600_000;

/** So many early deaths within this time are a token war. */
const WAR_MS = 600_000;
const WAR_DEATHS = 3;

/**
 * The atomic transitions of the token record. Times are Redis time in milliseconds. shared-token.ts
 * describes the states; redis/keys.ts lists the keys and their lifetimes.
 */

/**
 * Shared by the scripts. A field that is not a plain number counts as missing, and a token with a missing
 * field as no token: a corrupt record is replaced.
 */
export const RECORD_PRELUDE = `
local function number(text)
  if text and #text <= 15 and string.find(text, '^%d+$') then return tonumber(text) end
end
local function text(value) return string.format('%.0f', value) end
local function read(current)
  local f = redis.call('HMGET', current, 'id', 'sealed', 'issuedAt', 'expiresAt', 'fence',
    'proven', 'unproven', 'contested', 'earlyAfter', 'issuer', 'died')
  local token = {
    id = f[1] or '', sealed = f[2] or '', issuedAt = number(f[3]), expiresAt = number(f[4]),
    fence = number(f[5]), proven = f[6] == '1', unproven = number(f[7]) or 0,
    contested = f[8] == '1', earlyAfter = number(f[9]) or 0, issuer = f[10] or '',
    died = f[11] == '1',
  }
  token.whole = token.id ~= '' and token.sealed ~= '' and token.issuedAt and token.fence
    and (token.expiresAt or not f[4] or f[4] == '')
  return token
end
local function rest(key, longest)
  local ttl = redis.call('PTTL', key)
  if ttl == -1 or ttl > longest then
    redis.call('DEL', key)
    return -2
  end
  return ttl
end
-- A token that worked, and is refused long before its end.
local function diedEarly(token, now)
  local age = now - token.issuedAt
  local life = token.expiresAt and token.expiresAt - token.issuedAt or math.huge
  return token.proven and age >= 0 and age < math.min(${EARLY_MS}, life / 2)
end
local function addDeath(deaths, id, now)
  redis.call('ZADD', deaths, now, id)
  redis.call('ZREMRANGEBYSCORE', deaths, '-inf', now - ${WAR_MS})
  redis.call('PEXPIRE', deaths, ${WAR_MS})
end
`;

/** A refusal that a new token did not end is remembered for this long, or for twice its distance. */
const UNCURED_MS = 600_000;

/** An acceptance that was asked for this long ago is overdue. */
const OVERDUE_MS = 2_000;

/** Between two renewals for a remembered refusal while tokens work at other times. */
const RENEW_AGAIN_MS = 10_000;

/** Longest distance of two renewals for a remembered refusal that nothing contradicts. */
const LONGEST_DISTANCE_MS = 960_000;

/**
 * Decides about a want, and takes the lock. The order of the checks is the protocol:
 *
 * 1. a refusal is in effect: fail;
 * 2. the stored token is not the refused one: take it;
 * 3. this caller has the lock already (its answer was lost): the same fence, whatever the lock changed below;
 * 4. the stored token is the refused one, and a new token did not end such a refusal before: keep it. A
 *    renewal is tried again after its distance, and after ten seconds when three notices met it and the token
 *    had worked; both only while an acceptance has been asked for and none has come for two seconds. Rules 6 and 10
 *    do not follow then;
 * 5. the stored token is the refused one and within the grace time: try it once more;
 * 6. rule 10 would follow for a code that does not state that the token is invalid, but no acceptance is overdue as in
 *    rule 4: keep the token, since a notice at fault must not count as the death of a token that works;
 * 7. an early renewal too soon after another: later;
 * 8. another process has the lock: wait;
 * 9. the refused token never worked, nor did the one before it, and this was not reported yet: contested;
 * 10. the refused token died early, as three others within ten minutes, and this was not reported yet: contested;
 * 11. the budget is spent: contested;
 * 12. otherwise: take the lock and the next fence.
 *
 * A lock or refusal without ttl, or with a longer one than is ever set, comes from a clock that went back
 * and is removed. The fence exceeds the stored one even when its counter was lost.
 */
export const acquire = defineScript({
  name: 'token acquire',
  keys: 9,
  parse: parseDecision,
  lua: `${RECORD_PRELUDE}
local current, lock, fenceKey, refused, issued, hints, uncured, evidence, deaths = unpack(KEYS)
local nonce, why, refusedId = ARGV[1], ARGV[2], ARGV[3]
local refusal, replaced, ofToken = ARGV[10], ARGV[11], ARGV[12]
local grace, lockTtl = tonumber(ARGV[4]), tonumber(ARGV[5])
local budget, window = tonumber(ARGV[6]), tonumber(ARGV[7])
local refusedMin, refusedMax = tonumber(ARGV[8]), tonumber(ARGV[9])
local now = clock()

local refusedFor = rest(refused, refusedMax)
if refusedFor > 0 then
  local f = redis.call('HMGET', refused, 'kind', 'code')
  return { 'refused', f[1] or '', f[2] or '', refusedFor, 0 }
end

local token = read(current)
local alive = token.whole and (not token.expiresAt or token.expiresAt > now)
local function answer(kind)
  return { kind, token.id, token.sealed, text(token.fence), text(now - token.issuedAt),
    token.expiresAt and text(token.expiresAt - now) or -1, token.proven and 1 or 0 }
end
if alive and token.id ~= refusedId then return answer('take') end
if redis.call('GET', lock) == nonce then
  redis.call('PEXPIRE', lock, lockTtl)
  return { 'lock', text(number(redis.call('GET', fenceKey)) or 1) }
end
local died = why == 'use' and replaced == '1' and token.whole and token.id == refusedId
  and diedEarly(token, now) and not token.contested
local deathsBefore = died
  and redis.call('ZCOUNT', deaths, '(' .. text(now - ${WAR_MS}), text(now)) or 0
local isWar = deathsBefore >= ${WAR_DEATHS}
local function isOverdue()
  local askedAt = tonumber(redis.call('HGET', evidence, 'askedAt') or 0)
  return askedAt > 0 and now - askedAt > ${OVERDUE_MS}
end
local distance
if alive and why == 'use' and refusal ~= '' then
  local at, apart = string.match(redis.call('HGET', uncured, refusal) or '', '^(%d+) (%d+)$')
  at, apart = tonumber(at), tonumber(apart)
  if at and at <= now and now - at < math.max(2 * apart, ${UNCURED_MS}) then
    local row = tonumber(redis.call('HGET', evidence, 'refusedRow') or 0)
    local all = token.proven and row >= 3 and now - at >= ${RENEW_AGAIN_MS}
    if not (isOverdue() and (all or now - at >= apart)) then return answer('keep') end
    distance = math.min(apart * 2, ${LONGEST_DISTANCE_MS})
    isWar = false
  end
end
if alive and why == 'use' then
  local age = now - token.issuedAt
  if age >= 0 and age < grace then return answer('young') end
end
if isWar and ofToken ~= '1' and not isOverdue() then return answer('keep') end
if why == 'early' and token.earlyAfter > now then return { 'later' } end

local lockedFor = rest(lock, lockTtl)
if lockedFor >= 0 then return { 'wait', lockedFor } end

local function contested(ttl)
  redis.call('HSET', refused, 'kind', 'contested', 'code', 'TOKEN_CONTESTED')
  redis.call('PEXPIRE', refused, ttl)
  redis.call('PUBLISH', hints, 'refused')
  return { 'refused', 'contested', 'TOKEN_CONTESTED', ttl, 1 }
end
if why == 'use' and token.whole and token.id == refusedId and not token.proven
  and token.unproven >= 1 and not token.contested then
  redis.call('HSET', current, 'contested', '1')
  return contested(math.min(refusedMax, refusedMin * 2 ^ math.min(token.unproven - 1, 30)))
end
if isWar then
  redis.call('HSET', current, 'contested', '1')
  addDeath(deaths, token.id, now)
  return contested(math.min(refusedMax, refusedMin * 2 ^ math.min(deathsBefore - ${WAR_DEATHS}, 30)))
end

redis.call('ZREMRANGEBYSCORE', issued, '-inf', now - window)
redis.call('ZREMRANGEBYSCORE', issued, '(' .. text(now), '+inf')
local spent = redis.call('ZCARD', issued)
if spent >= budget then
  if why == 'early' then return { 'later' } end
  local last = redis.call('ZRANGE', issued, spent - budget, spent - budget, 'WITHSCORES')
  return contested(math.max(1, math.min(refusedMax, tonumber(last[2]) + window - now)))
end

local fence = math.max(number(redis.call('GET', fenceKey)) or 0, token.fence or 0) + 1
redis.call('SET', fenceKey, text(fence))
redis.call('SET', lock, nonce, 'PX', lockTtl)
if died then redis.call('HSET', current, 'died', '1') end
if distance then redis.call('HSET', uncured, refusal, text(now) .. ' ' .. text(distance)) end
if why == 'early' and alive then
  local half = token.expiresAt and math.floor((token.expiresAt - now) / 2) or 0
  redis.call('HSET', current, 'earlyAfter', text(now + math.max(refusedMin, half)))
end
return { 'lock', text(fence) }`,
});

/**
 * Stores an issued token, unless a holder with a higher fence stored before. Counts the issuance in either
 * case. `unproven` is the number of tokens right before this one that were refused without having worked.
 * `follows` is the id of the token before it, if that died early and no other issuance of ours, which may have
 * replaced it, began since. A service may give out the token that it gave before, until it expires: what is known of it
 * stays, and so does the time before which no other early renewal begins. ARGV[9] is 1 where the refusal may well be of
 * the token: given out again, it counts as one that never worked, until a call with it is accepted.
 * A repetition with the same fence and id (after a lost answer) has the same result.
 */
export const store = defineScript({
  name: 'token store',
  keys: 6,
  parse: (reply: unknown) => (reply === 1 ? ('stored' as const) : ('late' as const)),
  lua: `${RECORD_PRELUDE}
local current, lock, refused, streak, issued, hints = unpack(KEYS)
local nonce, fence, id, sealed = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local life, issuer, refusedId, window = tonumber(ARGV[5]), ARGV[6], ARGV[7], tonumber(ARGV[8])
local ofToken = ARGV[9] == '1'
local now = clock()
local token = read(current)
if redis.call('GET', lock) == nonce then redis.call('DEL', lock) end
if token.fence == fence and token.id == id then return 1 end
redis.call('ZADD', issued, now, nonce .. ':' .. text(fence))
redis.call('PEXPIRE', issued, window)
if fence <= (token.fence or 0) then
  redis.call('PUBLISH', hints, 'released')
  return 0
end
local isSame = token.whole and token.id == id
local wasRefused = refusedId ~= '' and token.id == refusedId
local isProven = isSame and token.proven and not (wasRefused and ofToken)
local unproven = isSame and token.unproven or 0
if wasRefused and (not token.proven or (isSame and not isProven)) then
  unproven = (token.proven and 0 or token.unproven) + 1
end
local hasDied = token.died and not isSame and token.id == refusedId and fence == token.fence + 1
local follows = hasDied and token.id or ''
redis.call('DEL', current, refused, streak)
redis.call('HSET', current, 'id', id, 'sealed', sealed, 'issuedAt', text(now),
  'expiresAt', life >= 0 and text(now + life) or '', 'fence', text(fence), 'issuer', issuer,
  'proven', isProven and '1' or '0', 'unproven', text(unproven), 'follows', follows)
if isSame then
  local contested = token.contested and (isProven or not wasRefused)
  redis.call('HSET', current, 'earlyAfter', text(token.earlyAfter), 'contested', contested and '1' or '0')
end
redis.call('PUBLISH', hints, 'stored:' .. id)
if isSame and not isProven then redis.call('PUBLISH', hints, 'unproven:' .. id) end
return 1`,
});

/**
 * Records a failed issuance for the fleet, each one in a row for twice as long, and releases the lock. A
 * holder that was overtaken (a newer token, or another lock) records nothing: its failure does not concern
 * the token that the others have. Nor does one that may have asked for reasons of its own, while the stored token works
 * and no acceptance is overdue. ARGV[8] names these reasons: `unreadable`, a refusal that is not of the token, or ''. Such
 * a refusal is remembered: it is renewed for again once an acceptance is overdue. ARGV[9] is 1 where they are surely its
 * own: it records nothing as long as a token is stored. Returns the duration of the refusal, -1 for an overtaken holder, or
 * -2 where nothing is recorded because of the stored token. A repetition after a lost answer is known by the fence and
 * counts as no further failure.
 */
export const fail = defineScript({
  name: 'token fail',
  keys: 7,
  parse: Number,
  lua: `${RECORD_PRELUDE}
local current, lock, refused, streak, hints, uncured, evidence = unpack(KEYS)
local nonce, fence, kind, code = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local min, max, forget, reasons = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), ARGV[8]
if redis.call('HGET', refused, 'fence') == text(fence) then return redis.call('PTTL', refused) end
local holder = redis.call('GET', lock)
if holder == nonce then redis.call('DEL', lock) end
local token = read(current)
if (holder and holder ~= nonce) or fence <= (token.fence or 0) then return -1 end
local now = clock()
local own = ARGV[9] == '1'
if reasons ~= '' and token.whole and (token.proven or own) and (not token.expiresAt or token.expiresAt > now) then
  if reasons ~= 'unreadable' then
    redis.call('HSET', uncured, reasons, text(now) .. ' ${OVERDUE_MS}')
    redis.call('PEXPIRE', uncured, 3600000)
  end
  local askedAt = tonumber(redis.call('HGET', evidence, 'askedAt') or 0)
  if own or askedAt == 0 or now - askedAt <= ${OVERDUE_MS} then
    redis.call('PUBLISH', hints, 'released')
    return -2
  end
end
local failures = (number(redis.call('GET', streak)) or 0) + 1
redis.call('SET', streak, text(failures), 'PX', forget)
local ttl = math.min(max, min * 2 ^ math.min(failures - 1, 30))
redis.call('HSET', refused, 'kind', kind, 'code', code, 'fence', text(fence))
redis.call('PEXPIRE', refused, ttl)
redis.call('PUBLISH', hints, 'refused')
return ttl`,
});

/** Releases the lock if the caller still has it. */
export const release = defineScript({
  name: 'token release',
  keys: 2,
  lua: `
if redis.call('GET', KEYS[1]) == ARGV[1] then
  redis.call('DEL', KEYS[1])
  redis.call('PUBLISH', KEYS[2], 'released')
end
return 0`,
});

/** Records that a call with the stored token was accepted. */
export const prove = defineScript({
  name: 'token prove',
  keys: 1,
  lua: `
if redis.call('HGET', KEYS[1], 'id') == ARGV[1] then
  redis.call('HSET', KEYS[1], 'proven', '1')
end
return 0`,
});

import type { TokenKeys } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';

/*
 * The atomic transitions of the token record. Times are Redis time in milliseconds; redis/keys.ts lists the keys and
 * their lifetimes.
 */

/** A token as it is stored in Redis. Times are relative, so that no two clocks are compared. */
export interface StoredToken {
  readonly id: string;
  readonly sealed: string;
  readonly fence: number;
  readonly ageMs: number;
  /** Its remaining life; absent when the service does not report it. */
  readonly restMs?: number;
}

/** The decision about a want; one script decides and takes the lock. */
export type AcquireDecision =
  /**
   * The stored token, and nothing is issued: it is not the refused one (take); it is, but within the grace time (young);
   * it is, and a token was issued for such a refusal before (keep).
   */
  | { readonly kind: 'take' | 'young' | 'keep'; readonly stored: StoredToken }
  /** No issuance now, since one was refused; `fresh` when this call caused it. */
  | {
      readonly kind: 'refused';
      readonly code: string;
      readonly restMs: number;
      readonly fresh: boolean;
    }
  /** Another process issues, for at most `restMs`; or it is too soon for an early renewal. */
  | { readonly kind: 'wait'; readonly restMs: number }
  /** The caller has the lock and this fence: issue. */
  | { readonly kind: 'lock'; readonly fence: number };

/** Failed issuances count as in a row for this long; the longest refusal is shorter. */
const STREAK_MS = 600_000;

/** A refusal for which a token was issued causes no other issuance for this long. */
const TRIED_MS = 600_000;

/** Refusals that are remembered at most: a service may give each one a code of its own. */
const MOST_TRIED = 1_000;

/** The longest refusal of an issuance; a longer one is of a clock that went back. */
const LONGEST_REFUSAL_MS = 60_000;

/** The keys of a record, in the order in which every script takes them. */
export const scriptKeys = (keys: TokenKeys): readonly string[] => [
  keys.current,
  keys.lock,
  keys.fence,
  keys.refused,
  keys.issued,
  keys.tried,
  keys.lifted,
  keys.hints,
];

/**
 * Shared by the scripts. A field that is not a plain number counts as missing, and a token with a missing
 * field as no token: a corrupt record is replaced. A refusal from before a person lifted a hold is over.
 */
const RECORD_PRELUDE = `
local current, lock, fenceKey, refused, issued, tried, lifted, hints = unpack(KEYS)
local now = clock()
local function number(text)
  if text and #text <= 15 and string.find(text, '^%d+$') then return tonumber(text) end
end
local function text(value) return string.format('%.0f', value) end
local token = {}
do
  local f = redis.call('HMGET', current, 'id', 'sealed', 'issuedAt', 'expiresAt', 'fence', 'issuer', 'earlyAfter')
  token = { id = f[1] or '', sealed = f[2] or '', issuedAt = number(f[3]), expiresAt = number(f[4]),
    fence = number(f[5]), issuer = f[6] or '', earlyAfter = number(f[7]) or 0 }
  token.whole = token.id ~= '' and token.sealed ~= '' and token.issuedAt and token.fence
    and (token.expiresAt or not f[4] or f[4] == '')
  token.alive = token.whole and (not token.expiresAt or token.expiresAt > now)
end
local function readRefusal()
  local f = redis.call('HMGET', refused, 'code', 'at', 'until')
  local rest = (number(f[3]) or 0) - now
  if rest <= 0 or rest > ${LONGEST_REFUSAL_MS} then return nil end
  if (number(f[2]) or 0) <= (number(redis.call('GET', lifted)) or 0) then return nil end
  return { code = f[1] or '', restMs = rest }
end
local function refuse(code, ms)
  redis.call('HSET', refused, 'code', code, 'at', text(now), 'until', text(now + ms))
  redis.call('PEXPIRE', refused, ${STREAK_MS})
  redis.call('PUBLISH', hints, 'refused')
end
local function remember(refusal, ms)
  redis.call('ZREMRANGEBYSCORE', tried, '-inf', text(now))
  redis.call('ZADD', tried, text(now + ms), refusal)
  redis.call('ZREMRANGEBYRANK', tried, 0, ${-1 - MOST_TRIED})
  redis.call('PEXPIRE', tried, ${TRIED_MS})
end
local function releaseOf(nonce)
  if redis.call('GET', lock) == nonce then redis.call('DEL', lock) end
end
`;

/**
 * Decides about a want, and takes the lock. The order of the checks is the protocol:
 *
 * 1. a refused issuance is in effect: fail;
 * 2. the stored token is not the refused one: take it;
 * 3. this caller has the lock already (its answer was lost): the same fence;
 * 4. a token was issued for such a refusal within ten minutes: keep the stored one;
 * 5. the stored token is within the grace time: try it once more;
 * 6. an early renewal too soon after another: wait;
 * 7. another process has the lock: wait;
 * 8. the budget is spent: contested;
 * 9. otherwise: take the lock and the next fence.
 *
 * A lock without ttl, or with a longer one than is ever set, comes from a clock that went back and counts as none. The
 * fence exceeds the stored one even when its counter was lost.
 */
export const acquire = defineScript({
  name: 'token acquire',
  keys: 8,
  parse: (reply: unknown) => JSON.parse(String(reply)) as AcquireDecision,
  lua: `${RECORD_PRELUDE}
local nonce, refusedId, refusal, early = ARGV[1], ARGV[2], ARGV[3], ARGV[4] == '1'
local grace, lockTtl, budget = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local window, shortest, longest = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local function answer(kind, fields)
  fields.kind = kind
  return cjson.encode(fields)
end
local function answerStored(kind)
  local rest = token.expiresAt and token.expiresAt - now
  return answer(kind, { stored = { id = token.id, sealed = token.sealed, fence = token.fence,
    ageMs = now - token.issuedAt, restMs = rest or nil } })
end

local live = readRefusal()
if live and live.restMs <= longest then
  return answer('refused', { code = live.code, restMs = live.restMs, fresh = false })
end
if token.alive and token.id ~= refusedId then return answerStored('take') end
if redis.call('GET', lock) == nonce then
  redis.call('PEXPIRE', lock, lockTtl)
  return answer('lock', { fence = number(redis.call('GET', fenceKey)) or 1 })
end
if token.alive and refusal ~= '' then
  local rest = tonumber(redis.call('ZSCORE', tried, refusal) or 0) - now
  if rest > 0 and rest <= ${TRIED_MS} then return answerStored('keep') end
end
if token.alive and now >= token.issuedAt and now - token.issuedAt < grace then return answerStored('young') end
if early and token.earlyAfter > now then return answer('wait', { restMs = 0 }) end

local lockedFor = redis.call('PTTL', lock)
if lockedFor >= 0 and lockedFor <= lockTtl then return answer('wait', { restMs = lockedFor }) end

redis.call('ZREMRANGEBYSCORE', issued, '-inf', now - window)
redis.call('ZREMRANGEBYSCORE', issued, '(' .. text(now), '+inf')
local spent = redis.call('ZCARD', issued)
if spent >= budget then
  if early then return answer('wait', { restMs = 0 }) end
  local last = redis.call('ZRANGE', issued, spent - budget, spent - budget, 'WITHSCORES')
  local ms = math.max(1, math.min(longest, tonumber(last[2]) + window - now))
  refuse('TOKEN_CONTESTED', ms)
  return answer('refused', { code = 'TOKEN_CONTESTED', restMs = ms, fresh = true })
end

local fence = math.max(number(redis.call('GET', fenceKey)) or 0, token.fence or 0) + 1
redis.call('SET', fenceKey, text(fence))
redis.call('SET', lock, nonce, 'PX', lockTtl)
if early and token.alive then
  local half = token.expiresAt and math.floor((token.expiresAt - now) / 2) or 0
  redis.call('HSET', current, 'earlyAfter', text(now + math.max(shortest, half)))
end
return answer('lock', { fence = fence })`,
});

/**
 * Stores an issued token, unless a holder with a higher fence stored before, and remembers for which refusal it was
 * issued. Counts the issuance in either case. A service may give out the token that it gave before, until it expires: the
 * time before which no other early renewal begins stays. A repetition with the same fence and id (after a lost answer) has
 * the same result. Answers whether it was stored.
 */
export const store = defineScript({
  name: 'token store',
  keys: 8,
  parse: (reply: unknown) => reply === 1,
  lua: `${RECORD_PRELUDE}
local nonce, fence, id, sealed = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local life, issuer, refusal, window = tonumber(ARGV[5]), ARGV[6], ARGV[7], tonumber(ARGV[8])
alsoWhenFull()
releaseOf(nonce)
if token.fence == fence and token.id == id then return 1 end
redis.call('ZADD', issued, now, nonce .. ':' .. text(fence))
redis.call('PEXPIRE', issued, window)
if fence <= (token.fence or 0) then
  redis.call('PUBLISH', hints, 'released')
  return 0
end
local earlyAfter = token.id == id and token.earlyAfter or 0
redis.call('DEL', current, refused)
redis.call('HSET', current, 'id', id, 'sealed', sealed, 'issuedAt', text(now),
  'expiresAt', life >= 0 and text(now + life) or '', 'fence', text(fence), 'issuer', issuer,
  'earlyAfter', text(earlyAfter))
if refusal ~= '' then remember(refusal, ${TRIED_MS}) end
redis.call('PUBLISH', hints, 'stored:' .. id)
return 1`,
});

/**
 * Records a failed issuance for the fleet, each one in a row for twice as long, and releases the lock. A
 * holder that was overtaken (a newer token, or another lock) records nothing: its failure does not concern
 * the token that the others have. Nor does one that asked because of a refusal which may not be of the token, while
 * one is stored: such refusals cause no other issuance for as long as the first refusal lasts. Answers the duration of the
 * refusal, -1 for an overtaken holder, or -2 where the stored token stays in use. A repetition after a lost answer is known by
 * the fence and counts as no further failure.
 */
export const fail = defineScript({
  name: 'token fail',
  keys: 8,
  parse: Number,
  lua: `${RECORD_PRELUDE}
local nonce, fence, code, refusal = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local shortest, longest = tonumber(ARGV[5]), tonumber(ARGV[6])
local before = redis.call('HMGET', refused, 'fence', 'until', 'failures')
if before[1] == text(fence) then return math.max(0, (number(before[2]) or 0) - now) end
alsoWhenFull()
releaseOf(nonce)
if redis.call('EXISTS', lock) == 1 or fence <= (token.fence or 0) then return -1 end
if refusal ~= '' and token.alive then
  remember(refusal, shortest)
  redis.call('PUBLISH', hints, 'released')
  return -2
end
local failures = (number(before[3]) or 0) + 1
local ms = math.min(longest, shortest * 2 ^ math.min(failures - 1, 30))
redis.call('HSET', refused, 'fence', text(fence), 'failures', text(failures))
refuse(code, ms)
return ms`,
});

export const release = defineScript({
  name: 'token release',
  keys: 8,
  lua: `${RECORD_PRELUDE}
releaseOf(ARGV[1])
redis.call('PUBLISH', hints, 'released')`,
});

/** Reads the record for status pages: everything but the token. */
export const inspect = defineScript({
  name: 'token inspect',
  keys: 8,
  parse: (reply: unknown): unknown => JSON.parse(String(reply)),
  lua: `${RECORD_PRELUDE}
local live = readRefusal()
local stored = { id = token.id, issuedAt = token.issuedAt, expiresAt = token.expiresAt, fence = token.fence,
  issuer = token.issuer, ageMs = now - (token.issuedAt or 0) }
return cjson.encode({ token = token.whole and stored or nil, issuing = redis.call('EXISTS', lock) == 1,
  refusal = live and { code = live.code, ['until'] = now + live.restMs } or nil,
  issuances = redis.call('ZCOUNT', issued, text(now - tonumber(ARGV[1])), '+inf') })`,
});

import type { RedisClient } from '../redis/connect.ts';
import { hintChannel } from '../redis/hints.ts';
import type { TokenKeys } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';

/** A token as it is stored in Redis. Times are relative, so that no two clocks are compared. */
export interface StoredToken {
  readonly id: string;
  readonly sealed: string;
  readonly fence: number;
  readonly ageMs: number;
  /** Its remaining life; absent when the service does not report it. */
  readonly restMs?: number;
}

/** The decision about a want; one step both decides and takes the lock. */
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

/** A failed issuance is not recorded: a newer holder exists. */
export const OVERTAKEN = -1;
/** A failed issuance is not recorded: the refusal may not be of the token, and one is stored. */
export const KEPT = -2;

/** Failed issuances count as in a row for this long; the longest refusal is shorter. */
const STREAK_MS = 600_000;

/** A refusal for which a token was issued causes no other issuance for this long. */
const TRIED_MS = 600_000;

/** The longest refusal of an issuance; a longer one is of a clock that went back. */
const LONGEST_REFUSAL_MS = 60_000;

/**
 * The token record and its steps; Redis runs each as a whole. It is one JSON text, with Redis time in milliseconds:
 *
 * - `token`: id, sealed, issuedAt, expiresAt, fence, issuer, and earlyAfter, before which no early renewal begins;
 * - `lock`: nonce of the process that issues, and until when;
 * - `fence`: counter of the locks;
 * - `refusal`: code and time of the last issuance that failed, until when none is issued, failures in a row, fence;
 * - `issued`: times of issuances by fence, for the budget;
 * - `tried`: refusals for which a token was issued, by when that is over. The budget bounds their number.
 *
 * What is not of its type counts as missing, and a token with a missing field as no token: a corrupt record is replaced.
 * A time ahead of what is ever set is of a clock that went back. A refusal from before a person lifted a hold is over.
 */
const RECORD = `
local key, hold, hints = unpack(KEYS)
local given = cjson.decode(ARGV[2])
local now = clock()
local function number(value)
  if type(value) == 'number' and value >= 0 and value < 1e15 and value % 1 == 0 then return value end
end
local function isText(value) return type(value) == 'string' and value ~= '' end
local record = jsonOf(redis.call('GET', key)) or {}
for _, name in ipairs({ 'token', 'lock', 'refusal', 'issued', 'tried' }) do
  if type(record[name]) ~= 'table' then record[name] = {} end
end
local token, refusal = record.token, record.refusal
local storedFence = number(token.fence) or 0
local whole = isText(token.id) and isText(token.sealed) and number(token.issuedAt) and number(token.fence)
  and (token.expiresAt == nil or number(token.expiresAt))
local alive = whole and (not token.expiresAt or token.expiresAt > now)

local function rest(at, longest)
  local ms = (number(at) or 0) - now
  return ms > 0 and ms <= longest and ms or nil
end
local function save(hint)
  alsoWhenFull()
  redis.call('SET', key, cjson.encode(record))
  if hint then redis.call('PUBLISH', hints, hint) end
end
local function release()
  if record.lock.nonce == given.nonce then record.lock = {} end
end
local function liveRefusal()
  local lifted = tonumber(redis.call('HGET', hold, 'lifted') or 0) or 0
  if lifted <= now and (number(refusal.at) or 0) <= lifted then return nil end
  return rest(refusal['until'], ${LONGEST_REFUSAL_MS})
end
local function wasRefused() return math.abs(now - (number(refusal.at) or 0)) <= ${STREAK_MS} end
local function refuse(code, ms)
  refusal.code, refusal.at, refusal['until'] = code, now, now + ms
  save('refused')
end
local function remember(ms)
  for name, at in pairs(record.tried) do
    if not rest(at, ${TRIED_MS}) then record.tried[name] = nil end
  end
  record.tried[given.refusal] = now + ms
end
-- The times of the issuances that count for the budget, in order.
local function issuances()
  local times = {}
  for fence, at in pairs(record.issued) do
    if number(at) and at > now - given.budgetWindowMs and at <= now then
      times[#times + 1] = at
    else
      record.issued[fence] = nil
    end
  end
  table.sort(times)
  return times
end
local steps = {}
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
 * 9. otherwise: take the lock and the next fence, which exceeds the stored one even when its counter was lost.
 */
const ACQUIRE = `
function steps.acquire()
  local function stored(kind)
    return { kind = kind, stored = { id = token.id, sealed = token.sealed, fence = token.fence,
      ageMs = now - token.issuedAt, restMs = token.expiresAt and token.expiresAt - now or nil } }
  end
  local refusedFor = liveRefusal()
  if refusedFor and refusedFor <= given.refusedMaxMs then
    return { kind = 'refused', code = refusal.code, restMs = refusedFor, fresh = false }
  end
  if alive and token.id ~= given.refused then return stored('take') end
  local lockedFor = rest(record.lock['until'], given.lockTtlMs)
  if lockedFor and record.lock.nonce == given.nonce then
    record.lock['until'] = now + given.lockTtlMs
    save()
    return { kind = 'lock', fence = number(record.fence) or 1 }
  end
  if alive and given.refusal ~= '' and rest(record.tried[given.refusal], ${TRIED_MS}) then return stored('keep') end
  if alive and now >= token.issuedAt and now - token.issuedAt < given.graceMs then return stored('young') end
  if given.early and (number(token.earlyAfter) or 0) > now then return { kind = 'wait', restMs = 0 } end
  if lockedFor then return { kind = 'wait', restMs = lockedFor } end

  local times = issuances()
  if #times >= given.budget then
    if given.early then return { kind = 'wait', restMs = 0 } end
    local ms = math.max(1, math.min(given.refusedMaxMs, times[#times - given.budget + 1] + given.budgetWindowMs - now))
    refuse('TOKEN_CONTESTED', ms)
    return { kind = 'refused', code = 'TOKEN_CONTESTED', restMs = ms, fresh = true }
  end

  record.fence = math.max(number(record.fence) or 0, storedFence) + 1
  record.lock = { nonce = given.nonce, ['until'] = now + given.lockTtlMs }
  if given.early and alive then
    local half = token.expiresAt and math.floor((token.expiresAt - now) / 2) or 0
    token.earlyAfter = now + math.max(given.refusedMinMs, half)
  end
  save()
  return { kind = 'lock', fence = record.fence }
end
`;

/**
 * Stores an issued token, unless a holder with a higher fence stored before, and remembers for which refusal it was
 * issued. Counts the issuance in either case. A service may give out the token that it gave before, until it expires: the
 * time before which no other early renewal begins stays. A repetition with the same fence and id (after a lost answer) has
 * the same result. Answers whether it was stored.
 */
const STORE = `
function steps.store()
  release()
  if storedFence == given.fence and token.id == given.id then
    save()
    return true
  end
  record.issued[string.format('%.0f', given.fence)] = now
  if given.fence <= storedFence then
    save('released')
    return false
  end
  record.token = { id = given.id, sealed = given.sealed, issuedAt = now, fence = given.fence, issuer = given.issuer,
    expiresAt = given.lifeMs and now + given.lifeMs or nil, earlyAfter = token.id == given.id and token.earlyAfter or nil }
  record.refusal = {}
  if given.refusal ~= '' then remember(${TRIED_MS}) end
  save('stored:' .. given.id)
  return true
end
`;

/**
 * Records a failed issuance for the fleet, each one in a row for twice as long, and releases the lock. A
 * holder that was overtaken (a newer token, or another lock) records nothing: its failure does not concern
 * the token that the others have. Nor does one that asked because of a refusal which may not be of the token, while
 * one is stored: such refusals cause no other issuance for as long as the first refusal lasts. Answers the duration of the
 * refusal, {@link OVERTAKEN} or {@link KEPT}. A repetition after a lost answer is known by the fence and counts as no
 * further failure.
 */
const FAIL = `
function steps.fail()
  if refusal.fence == given.fence then return math.max(0, (number(refusal['until']) or 0) - now) end
  release()
  if (number(record.lock['until']) or 0) > now or given.fence <= storedFence then
    save()
    return ${OVERTAKEN}
  end
  if given.refusal ~= '' and alive then
    remember(given.shortestMs)
    save('released')
    return ${KEPT}
  end
  refusal.failures = (wasRefused() and number(refusal.failures) or 0) + 1
  refusal.fence = given.fence
  local ms = math.min(given.longestMs, given.shortestMs * 2 ^ math.min(refusal.failures - 1, 30))
  refuse(given.code, ms)
  return ms
end
`;

/** The other steps: release the lock; forget a refusal that a new token ended; read all but the token for status. */
const REST = `
function steps.release()
  release()
  save('released')
  return true
end
function steps.forget()
  record.tried[given.refusal] = nil
  save()
  return true
end
function steps.inspect()
  local live = liveRefusal()
  return { token = whole and { id = token.id, issuedAt = token.issuedAt, expiresAt = token.expiresAt, fence = token.fence,
      issuer = token.issuer or '', ageMs = now - token.issuedAt } or nil,
    refusal = live and { code = refusal.code, ['until'] = now + live } or nil, wasRefused = wasRefused(),
    issuing = (number(record.lock['until']) or 0) > now, issuances = #issuances() }
end
return cjson.encode(steps[ARGV[1]]())`;

const step = defineScript({
  name: 'token',
  parse: (reply: unknown): unknown => JSON.parse(String(reply)),
  lua: `${RECORD}${ACQUIRE}${STORE}${FAIL}${REST}`,
});

/** Runs a step of the record. Rejects with a ScriptFailure. */
export function tokenStep(
  redis: RedisClient,
  keys: TokenKeys,
  name: 'acquire' | 'store' | 'fail' | 'release' | 'forget' | 'inspect',
  given: Readonly<Record<string, string | number | boolean | undefined>>,
): Promise<unknown> {
  const of = [keys.record, keys.hold, hintChannel(redis, keys.hints)];
  return step(redis, of, [name, JSON.stringify(given)]);
}

/** A token that is refused younger than this and than half of its known life, may have been replaced. */
const EARLY_MS = 600_000;

/** Early deaths count for this long. */
export const WAR_MS = 600_000;

/** Refusals that are remembered at most: a service may give each one a code of its own. */
const MOST_REFUSALS = 1_000;

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
local function note(uncured, refusal, value)
  if redis.call('HEXISTS', uncured, refusal) == 0 and redis.call('HLEN', uncured) >= ${MOST_REFUSALS} then
    redis.call('DEL', uncured)
  end
  redis.call('HSET', uncured, refusal, value)
  redis.call('PEXPIRE', uncured, 3600000)
end
-- Renewed for again after a distance, which never gets shorter.
local function remember(uncured, refusal, distance, now)
  local apart = string.match(redis.call('HGET', uncured, refusal) or '', '^%d+ (%d+)$')
  note(uncured, refusal, text(now) .. ' ' .. text(math.max(tonumber(apart) or 0, tonumber(distance))))
end
`;

import { defineScript } from '../redis/script.ts';
import { RECORD_PRELUDE } from './token-scripts.ts';

/*
 * What is learned from the second request of a send call, whose token was renewed after a refusal: whether the
 * new token ended it. shared-token.ts describes what follows.
 */

/** Refusals that are remembered at most: a service may give each one a code of its own. */
const MOST_REFUSALS = 1_000;

/**
 * Remembers that a new token did not end a refusal, if it is still the stored one. A refusal without a code
 * may be a dead token as well: it takes two different jobs. ARGV: id of the token, refusal, job, distance.
 */
export const addUncured = defineScript({
  name: 'token add uncured',
  keys: 2,
  lua: `
local current, uncured = unpack(KEYS)
local id, refusal, job, distance, alone = unpack(ARGV)
if redis.call('HGET', current, 'id') ~= id then return 0 end
local known = redis.call('HGET', uncured, refusal)
if not known and redis.call('HLEN', uncured) >= ${MOST_REFUSALS} then redis.call('DEL', uncured) end
if alone ~= '1' and (not known or known == 'by ' .. job) then
  redis.call('HSET', uncured, refusal, 'by ' .. job)
else
  local at, apart = string.match(known or '', '^(%d+) (%d+)$')
  -- A time in the future is of a clock that went back.
  if not at or tonumber(at) > clock() or clock() - tonumber(at) >= tonumber(apart)
    or tonumber(apart) < tonumber(distance) then
    apart = tonumber(apart) or 0
    redis.call('HSET', uncured, refusal,
      string.format('%.0f %.0f', clock(), math.max(apart, tonumber(distance))))
  end
end
redis.call('PEXPIRE', uncured, 3600000)
return 1`,
});

/**
 * A new token ended a refusal: it is renewed for again. ARGV: the refusal, and the id of the new token if this
 * process issued it for that refusal; the early death of the token before it is then certain, and counted once.
 */
export const cured = defineScript({
  name: 'token cured',
  keys: 3,
  lua: `${RECORD_PRELUDE}
local current, uncured, deaths = unpack(KEYS)
redis.call('HDEL', uncured, ARGV[1])
local f = redis.call('HMGET', current, 'id', 'follows')
if f[1] and f[1] == ARGV[2] and f[2] and f[2] ~= '' then
  addDeath(deaths, f[2], clock())
  redis.call('HDEL', current, 'follows')
end
return 0`,
});

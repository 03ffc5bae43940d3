import { defineScript } from '../../redis/script.ts';

/**
 * The transitions of intents (see intents.ts), one script each, for all notices of one request.
 *
 * KEYS of all: the histories of jobs, the accepted intents, the notices whose outcome is unknown, and
 * their ids by time. ARGV[1] of all is the prefix of the keys of BullMQ's jobs, ARGV[2] and [3] are
 * specific to the script, and from ARGV[4] on follow the notices, three texts each: the id of the job,
 * the nonce of the attempt, and a third that is specific to the script. All keys share one hash tag,
 * including those of the jobs and their locks.
 */
const PRELUDE = `
local history, accepted, unknown, unknownAt = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local jobs = ARGV[1]

local function each(move)
  local answers = {}
  for at = 4, #ARGV, 3 do answers[#answers + 1] = move(ARGV[at], ARGV[at + 1], ARGV[at + 2]) end
  return answers
end
local function read(key, job)
  local kept = redis.call('HGET', key, job)
  return kept and cjson.decode(kept)
end
local function readIntent(job) return read(history, 'intent:' .. job) end
local function writeIntent(job, intent) redis.call('HSET', history, 'intent:' .. job, cjson.encode(intent)) end
local function endIntent(job) redis.call('HDEL', history, 'intent:' .. job) end
-- BullMQ has recorded the end of the job, or the job no longer exists.
local function isOver(job)
  return redis.call('EXISTS', jobs .. job) == 0 or redis.call('HGET', jobs .. job, 'finishedOn')
end
local function forget(job)
  redis.call('HDEL', unknown, job)
  redis.call('ZREM', unknownAt, job)
end
-- Says nothing any more: the job is gone or completed, or a process of an earlier version has sent it again. A job that
-- is kept as failed keeps its entry: without it the notice would count as rejected.
local function isStale(job, listed)
  if redis.call('EXISTS', jobs .. job) == 0 then return true end
  local function isIn(set) return redis.call('ZSCORE', jobs .. set, job) end
  return isIn('completed') or listed.resend and not isIn('failed')
end
local function list(job, entry, keepMs)
  local now = clock()
  entry.at = now
  redis.call('HSET', unknown, job, cjson.encode(entry))
  redis.call('ZADD', unknownAt, now, job)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', unknownAt, '-inf', now - keepMs, 'LIMIT', 0, 10)) do
    local listed = read(unknown, id)
    if not listed or isStale(id, listed) then forget(id) end
  end
end
`;

/** @param lua the body of `function(job, nonce, third)`, whose value is the notice's answer */
const intentScript = <Answer>(name: string, lua: string) =>
  defineScript<readonly Answer[]>({
    name: `intent ${name}`,
    keys: 4,
    lua: `${PRELUDE}alsoWhenFull()
return each(function(job, nonce, third)${lua}
end)`,
    parse: (reply) => reply as readonly Answer[],
  });

/**
 * Opens intents right before the first request of an attempt. ARGV[2] is the worker; third is the
 * worker's token of the job's lock. Answers 'send', 'lost', 'unknown' or 'accepted'. A repetition by the
 * same attempt gets the same answer: a connection that is reopened repeats its commands.
 */
export const beginIntents = intentScript<string>(
  'begin',
  `
  if redis.call('GET', jobs .. job .. ':lock') ~= third then return 'lost' end
  local intent, listed = readIntent(job), read(unknown, job)
  if intent and intent.accepted then return 'accepted' end
  if listed and not listed.resend then return 'unknown' end
  if intent then return intent.nonce == nonce and 'send' or 'unknown' end
  forget(job)
  writeIntent(job, { nonce = nonce, at = clock(), worker = ARGV[2] })
  return 'send'`,
);

/**
 * Records the known end of an attempt. ARGV[2] is 'accepted', or 'back' when the service did not take the
 * request. An accepted intent stays until BullMQ has recorded the end of the job, so that nothing is sent
 * twice when the worker dies in between; each such end removes up to two earlier ones. Answers 1, or 0
 * when the intent belongs to another attempt.
 */
export const endIntents = intentScript<number>(
  'end',
  `
  local intent = readIntent(job)
  if not intent or intent.nonce ~= nonce then
    -- Another run has listed the notice meanwhile: the person who decides sees this stage.
    local listed = read(unknown, job)
    if listed and listed.nonce == nonce and ARGV[2] == 'accepted' then
      listed.stage = 'accepted'
      redis.call('HSET', unknown, job, cjson.encode(listed))
    end
    return 0
  end
  if ARGV[2] ~= 'accepted' then
    endIntent(job)
    return 1
  end
  intent.accepted = true
  writeIntent(job, intent)
  local now = clock()
  for _, id in ipairs(redis.call('ZRANGE', accepted, 0, 1)) do
    if isOver(id) then
      redis.call('ZREM', accepted, id)
      endIntent(id)
    else
      redis.call('ZADD', accepted, now, id)
    end
  end
  redis.call('ZADD', accepted, now, job)
  return 1`,
);

/**
 * Lists notices as unknown and removes their intents. ARGV[2] is how long they are kept in milliseconds,
 * [3] whose intent it ends: 'own', 'any', 'open' for any that is there, or 'none' for notices without one; third is
 * the UnknownFacts of the notice, as JSON. Answers 1, or 0 when the intent belongs to another attempt.
 */
export const parkIntents = intentScript<number>(
  'park',
  `
  local entry, intent = cjson.decode(third), readIntent(job)
  if ARGV[3] == 'own' and (not intent or intent.nonce ~= nonce) then return 0 end
  if ARGV[3] == 'any' or ARGV[3] == 'open' then
    local listed = read(unknown, job)
    -- An earlier run listed it and died before BullMQ recorded that; that run knew more.
    if not intent and listed and not listed.resend then return 1 end
    if not intent and ARGV[3] == 'open' then return 0 end
    entry.nonce = intent and intent.nonce
    -- Its answer arrived after this run had read the intent: the person who decides sees the stage.
    if intent and intent.accepted then entry.stage = 'accepted' end
  end
  if intent then endIntent(job) end
  list(job, entry, tonumber(ARGV[2]))
  return 1`,
);

/** Removes entries that no longer say anything. Answers 1 where it removed one. */
export const forgetStale = intentScript<number>(
  'forget stale',
  `
  local listed = read(unknown, job)
  if not listed or not isStale(job, listed) then return 0 end
  forget(job)
  return 1`,
);

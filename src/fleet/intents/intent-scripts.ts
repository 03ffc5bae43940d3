import { defineScript } from '../../redis/script.ts';

/**
 * The moves of intents (see intents.ts), each one script, for as many notices as go in one request.
 *
 * KEYS of all: the intents that were begun, those accepted among them, what is known of notices whose
 * outcome is unknown, and their ids by time. ARGV[1] of all is what the keys of BullMQ's jobs begin
 * with, ARGV[2] and [3] are the move's own, and from ARGV[4] on stand the notices, three texts each:
 * the id of the job, the nonce of the attempt, and a third that is the move's own. All keys share one
 * hash tag, those of the jobs and of their locks too.
 */
const PRELUDE = `
local begun, accepted, unknown, unknownAt = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
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
-- BullMQ has heard how the job ended, or the job is no more.
local function isOver(job)
  return redis.call('EXISTS', jobs .. job) == 0 or redis.call('HGET', jobs .. job, 'finishedOn')
end
local function forget(job)
  redis.call('HDEL', unknown, job)
  redis.call('ZREM', unknownAt, job)
end
local function list(job, entry, keepMs)
  local now = clock()
  entry.at = now
  redis.call('HSET', unknown, job, cjson.encode(entry))
  redis.call('ZADD', unknownAt, now, job)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', unknownAt, '-inf', now - keepMs, 'LIMIT', 0, 10)) do
    if isOver(id) then forget(id) end
  end
end
`;

/** @param lua the body of `function(job, nonce, third)`, whose value is the notice's answer */
const intentScript = <Answer>(name: string, lua: string) =>
  defineScript<readonly Answer[]>({
    name: `intent ${name}`,
    keys: 4,
    lua: `${PRELUDE}return each(function(job, nonce, third)${lua}
end)`,
    parse: (reply) => reply as readonly Answer[],
  });

/**
 * Right before the first request of an attempt. ARGV[2] the worker; third is the worker's token for
 * the lock of the job. Answers 'send', 'lost', 'unknown' or 'accepted'. Repeated by the same attempt
 * it answers the same: a connection that comes back repeats what it had asked.
 */
export const beginIntents = intentScript<string>(
  'begin',
  `
  if redis.call('GET', jobs .. job .. ':lock') ~= third then return 'lost' end
  local intent, listed = read(begun, job), read(unknown, job)
  if intent and intent.accepted then return 'accepted' end
  if listed and not listed.resend then return 'unknown' end
  if intent then return intent.nonce == nonce and 'send' or 'unknown' end
  forget(job)
  redis.call('HSET', begun, job, cjson.encode({ nonce = nonce, at = clock(), worker = ARGV[2] }))
  return 'send'`,
);

/**
 * The end of an attempt is known. ARGV[2] is 'accepted', or 'back' where it was not taken. What was
 * accepted stays until BullMQ has heard it, so that a worker that dies in between sends nothing twice;
 * each such end clears away two earlier ones. Answers 1, or 0 where the intent is another attempt's.
 */
export const endIntents = intentScript<number>(
  'end',
  `
  local intent = read(begun, job)
  if not intent or intent.nonce ~= nonce then
    -- Another run has set the job aside meanwhile: what is known now helps whoever decides.
    local listed = read(unknown, job)
    if listed and listed.nonce == nonce and ARGV[2] == 'accepted' then
      listed.stage = 'accepted'
      redis.call('HSET', unknown, job, cjson.encode(listed))
    end
    return 0
  end
  if ARGV[2] ~= 'accepted' then
    redis.call('HDEL', begun, job)
    return 1
  end
  intent.accepted = true
  redis.call('HSET', begun, job, cjson.encode(intent))
  local now = clock()
  for _, id in ipairs(redis.call('ZRANGE', accepted, 0, 1)) do
    if isOver(id) then
      redis.call('ZREM', accepted, id)
      redis.call('HDEL', begun, id)
    else
      redis.call('ZADD', accepted, now, id)
    end
  end
  redis.call('ZADD', accepted, now, job)
  return 1`,
);

/**
 * Lists notices as unknown, in place of their intents. ARGV[2] how long they are kept, [3] whose
 * intent it ends: 'own', 'any', or 'none' for notices without one; third is what is known of the
 * notice, as JSON. Answers 1, or 0 where the intent is another attempt's.
 */
export const parkIntents = intentScript<number>(
  'park',
  `
  local entry, intent = cjson.decode(third), read(begun, job)
  if ARGV[3] == 'own' and (not intent or intent.nonce ~= nonce) then return 0 end
  if ARGV[3] == 'any' then
    local listed = read(unknown, job)
    -- It was listed by a run that ended before BullMQ heard of it: that run knew more.
    if not intent and listed and not listed.resend then return 1 end
    entry.nonce = intent and intent.nonce
    -- Its answer came after this run had asked: that helps whoever decides.
    if intent and intent.accepted then entry.stage = 'accepted' end
  end
  if intent then redis.call('HDEL', begun, job) end
  list(job, entry, tonumber(ARGV[2]))
  return 1`,
);

/**
 * A person decided. ARGV[2] is 'resend' (it may be begun anew; the entry stays until it is, so that
 * nothing is lost if this is cut short), 'resent' (BullMQ has it again) or 'over'. Answers 1, or 0
 * where nothing is listed.
 */
export const resolveIntents = intentScript<number>(
  'resolve',
  `
  local listed = read(unknown, job)
  if not listed then return 0 end
  if ARGV[2] == 'resend' then
    listed.resend = true
    redis.call('HSET', unknown, job, cjson.encode(listed))
  elseif ARGV[2] == 'over' or listed.resend then
    forget(job)
  end
  return 1`,
);

import { defineScript } from '../redis/script.ts';

/**
 * The moves of an intent (see intents.ts), each one script.
 *
 * KEYS of all: the intents that were begun, those accepted among them, what is known of notices whose
 * outcome is unknown, and their ids by time; then the notice's job and the lock of it in BullMQ.
 * ARGV[1] of all is the id of the job, ARGV[2] the nonce of the attempt, ARGV[3] what the keys of all
 * jobs begin with.
 */
const PRELUDE = `
local begun, accepted, unknown, unknownAt = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local job, nonce, jobs = ARGV[1], ARGV[2], ARGV[3]

local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function read(key)
  local kept = redis.call('HGET', key, job)
  return kept and cjson.decode(kept)
end
-- BullMQ has heard how the job ended, or the job is no more.
local function isOver(id)
  return redis.call('EXISTS', jobs .. id) == 0 or redis.call('HGET', jobs .. id, 'finishedOn')
end
local function forget(id)
  redis.call('HDEL', unknown, id)
  redis.call('ZREM', unknownAt, id)
end
local function list(entry, keepMs)
  local now = clock()
  entry.at = now
  redis.call('HSET', unknown, job, cjson.encode(entry))
  redis.call('ZADD', unknownAt, now, job)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', unknownAt, '-inf', now - keepMs, 'LIMIT', 0, 10)) do
    if isOver(id) then forget(id) end
  end
end
`;

const intentScript = (name: string, lua: string) =>
  defineScript({ name: `intent ${name}`, keys: 6, lua: `${PRELUDE}${lua}` });

/**
 * Right before the first request of an attempt. ARGV[4] the worker's token for the lock, [5] the
 * worker. Answers 'send', 'lost', 'unknown' or 'accepted'. Repeated by the same attempt it answers
 * the same: a connection that comes back repeats what it had asked.
 */
export const beginIntent = intentScript(
  'begin',
  `
if redis.call('GET', KEYS[6]) ~= ARGV[4] then return 'lost' end
local intent, listed = read(begun), read(unknown)
if intent and intent.accepted then return 'accepted' end
if listed and not listed.resend then return 'unknown' end
if intent then return intent.nonce == nonce and 'send' or 'unknown' end
forget(job)
redis.call('HSET', begun, job, cjson.encode({ nonce = nonce, at = clock(), worker = ARGV[5] }))
return 'send'`,
);

/**
 * The end of an attempt is known. ARGV[4] is 'accepted', or 'back' where it was not taken. What was
 * accepted stays until BullMQ has heard it, so that a worker that dies in between sends nothing twice;
 * each such end clears away two earlier ones. Answers 1, or 0 where the intent is another attempt's.
 */
export const endIntent = intentScript(
  'end',
  `
local intent = read(begun)
if not intent or intent.nonce ~= nonce then
  -- Another run has set the job aside meanwhile: what is known now helps whoever decides.
  local listed = read(unknown)
  if listed and listed.nonce == nonce and ARGV[4] == 'accepted' then
    listed.stage = 'accepted'
    redis.call('HSET', unknown, job, cjson.encode(listed))
  end
  return 0
end
if ARGV[4] ~= 'accepted' then
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
 * Lists a notice as unknown, in place of its intent. ARGV[4] what is known of it, as JSON, [5] how
 * long it is kept, [6] whose intent it ends: 'own', 'any', or 'none' for a notice without one.
 * Answers 1, or 0 where the intent is another attempt's.
 */
export const parkIntent = intentScript(
  'park',
  `
local entry, intent = cjson.decode(ARGV[4]), read(begun)
if ARGV[6] == 'own' and (not intent or intent.nonce ~= nonce) then return 0 end
if ARGV[6] == 'any' then
  local listed = read(unknown)
  -- It was listed by a run that ended before BullMQ heard of it: that run knew more.
  if not intent and listed and not listed.resend then return 1 end
  entry.nonce = intent and intent.nonce
  -- Its answer came after this run had asked: that helps whoever decides.
  if intent and intent.accepted then entry.stage = 'accepted' end
end
if intent then redis.call('HDEL', begun, job) end
list(entry, tonumber(ARGV[5]))
return 1`,
);

/**
 * A person decided. ARGV[4] is 'resend' (it may be begun anew; the entry stays until it is, so that
 * nothing is lost if this is cut short), 'resent' (BullMQ has it again) or 'over'. Answers 1, or 0
 * where nothing is listed.
 */
export const resolveIntent = intentScript(
  'resolve',
  `
local listed = read(unknown)
if not listed then return 0 end
if ARGV[4] == 'resend' then
  listed.resend = true
  redis.call('HSET', unknown, job, cjson.encode(listed))
elseif ARGV[4] == 'over' or listed.resend then
  forget(job)
end
return 1`,
);

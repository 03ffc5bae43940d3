import { randomUUID } from 'node:crypto';
import type { RedisClient } from '../redis/connect.ts';
import { translated } from '../redis/failure.ts';
import { DONE_MS, type Keys } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';
import { ENDED_STATES } from './ended.ts';
import { ANNOUNCE, FIND_JOB, REMOVE_JOB } from './job-lua.ts';
import { readRef, type RefArguments } from './notice-ref.ts';
import type { CancelAnswer, CancelOptions, CancelReport, NoticeRef } from './notice-state.ts';

/**
 * Cancels a notice that waits: delayed, held, or before a worker takes it. Safe to repeat.
 * @param nonce of the request, the same where it is repeated after a lost reply. Default: a new one
 * @throws InputError NOTICE_INVALID if the reference is no id or key
 */
export async function cancelNotice(
  redis: RedisClient,
  keys: Keys,
  ref: NoticeRef,
  options: CancelOptions = {},
  nonce?: string,
): Promise<CancelReport> {
  const asked = readRef(ref);
  return translated(cancelJob(redis, keys, asked, options, nonce));
}

export async function cancelJob(
  redis: RedisClient,
  keys: Keys,
  asked: RefArguments,
  { releaseKey = false }: CancelOptions,
  nonce: string = randomUUID(),
): Promise<CancelReport> {
  return endJob(redis, keys, asked, releaseKey ? 'release' : '', nonce);
}

/**
 * Parks a notice of an old copy of Redis, whose outcome the copy does not know: it ends as unknown, for a person to decide.
 *
 * @returns whether it is parked now
 */
export async function parkNotice(
  redis: RedisClient,
  keys: Keys,
  id: string,
): Promise<'parked' | 'not-held' | 'changed'> {
  const asked = { mode: 'id', text: id } as const;
  const { answer } = await translated(endJob(redis, keys, asked, 'park', randomUUID()));
  const said: string = answer;
  return said === 'parked' || said === 'not-held' ? said : 'changed';
}

function endJob(
  redis: RedisClient,
  keys: Keys,
  { mode, text }: RefArguments,
  how: 'release' | 'park' | '',
  nonce: string,
): Promise<CancelReport> {
  const { hold, history, ended, account, events } = keys;
  const from = [hold, history, ended, account, events, keys.done(nonce)];
  return cancelScript(redis, from, [keys.noticeJob(''), mode, text, how]);
}

/**
 * Cancels a job at one moment with the decision about it: it is removed, and has an entry like others that were not
 * accepted (ended.ts). BullMQ has no command that removes a job only while it waits and was not possibly sent, so this
 * script takes it out of BullMQ's own keys. Others write fields of a job, or delete those that have ended.
 *
 * | the job | answer |
 * |---|---|
 * | its end is recorded | that state |
 * | does not exist | not-kept |
 * | completed | accepted |
 * | failed by a defect | unknown |
 * | a worker has it | sending |
 * | waits, possibly sent, also before it was sent again | possibly-sent |
 * | waits, while Redis is held as an old copy | possibly-sent: it may have been sent after the copy was made |
 * | waits | cancelled: it leaves the queue in this moment |
 *
 * Only while Redis is held as an old copy a notice is parked: it ends as unknown, also where a worker had it when the copy
 * was made. A worker whose lock is in effect may be sending it, and records the end itself.
 *
 * A released key finds nothing any more, so the mark of the request tells its repetition which notice it was.
 *
 * KEYS: hold, histories of jobs, entries, account, events, mark of the request. ARGV: the prefix of BullMQ's keys, `id`
 * or `key`, the id or the hash of the key, `release`, `park` or empty.
 */
export const cancelScript = defineScript<CancelReport>({
  name: 'cancel a notice',
  lua: `
local jobs = ARGV[1]
${FIND_JOB}${ANNOUNCE}${REMOVE_JOB}
local isOldCopy = (jsonOf(redis.call('HGET', KEYS[1], 'queue')) or {}).kind == 'restored'
local parks = ARGV[4] == 'park'
local function indexOf(state) return KEYS[3] .. ':at:' .. state end
local function isIn(state, id) return redis.call('ZSCORE', indexOf(state), id) end
local function stateOf(id)
  for _, state in ipairs({ '${ENDED_STATES.join("', '")}' }) do
    if isIn(state, id) then return state end
  end
  -- It is put back into the queue in this moment.
  if isIn('again', id) and not exists(id) then return 'sending' end
end
local function dataOf(text) return jsonOf(text) or {} end
local function finite(value)
  local number = tonumber(value)
  return number and math.abs(number) < 1e15 and number or nil
end
local function nested(value, name) return type(value) == 'table' and value[name] or nil end
local function wasPossiblySent(id, job, data)
  -- The stalls of an at-most-once notice say nothing: its intent tells.
  return (tonumber(redis.call('HGET', job, 'stc') or 0) > 0 and data.delivery ~= 'at-most-once')
    or (tonumber(nested(data.earlier, 'possiblySent')) or 0) > 0
    or redis.call('HEXISTS', KEYS[2], 'unknown:' .. id) == 1
    or redis.call('HEXISTS', KEYS[2], 'intent:' .. id) == 1
end
local function record(id, job, text, data, state, code, possiblySent)
  local now = clock()
  local added, priority, key = unpack(redis.call('HMGET', job, 'timestamp', 'priority', 'deid'))
  local template, contacts = nested(data.notice, 'templateCode'), nested(data.notice, 'contacts')
  local hash = key and key ~= id and key or nested(data.earlier, 'key')
  redis.call('HSET', KEYS[3], id, cjson.encode({ at = now, state = state, code = code,
    template = type(template) == 'string' and template or '',
    contacts = type(contacts) == 'table' and #contacts or finite(contacts) or 0,
    attempts = finite(redis.call('HGET', job, 'atm')) or 0, possiblySent = possiblySent, delivery = data.delivery == 'at-most-once' and data.delivery or nil,
    enqueuedAt = finite(added), expiresAt = finite(data.expiresAt),
    priority = finite(priority), key = type(hash) == 'string' and hash or nil, data = text }))
  redis.call('ZADD', indexOf(state), now, id)
  announce(KEYS[4], KEYS[5], id, state, code)
end
local function cancel(id)
  if parks and not isOldCopy then return 'not-held' end
  local state = stateOf(id)
  if state then return state end
  if not exists(id) then return 'not-kept' end
  local place, job = placeOf(id), jobs .. id
  if place == 'completed' then return 'accepted' end
  if place == 'failed' then return 'unknown' end
  if place == 'active' and (not parks or redis.call('EXISTS', job .. ':lock') == 1) then return 'sending' end
  local text = redis.call('HGET', job, 'data')
  local data = dataOf(text)
  if not parks and (isOldCopy or wasPossiblySent(id, job, data)) then return 'possibly-sent' end
  local left
  if place == 'wait' then
    -- New jobs are at this end, and are what is cancelled most.
    left = redis.call('LREM', jobs .. 'wait', 1, id) + redis.call('LREM', jobs .. 'paused', 1, id)
  elseif place == 'active' then
    left = redis.call('LREM', jobs .. 'active', 1, id)
  else
    left = redis.call('ZREM', jobs .. place, id)
  end
  if left == 0 then return 'sending' end
  redis.call('HDEL', KEYS[2], 'trouble:' .. id)
  if parks then
    redis.call('HDEL', KEYS[2], 'unknown:' .. id, 'intent:' .. id)
    record(id, job, text, data, 'unknown', 'OUTCOME_UNKNOWN', (finite(nested(data.earlier, 'possiblySent')) or 0) + 1)
  else
    record(id, job, text, data, 'cancelled', '', 0)
  end
  removeJob(id)
  return parks and 'parked' or 'cancelled'
end
local mode, marked = ARGV[2], redis.call('GET', KEYS[6])
local id = mode == 'key' and marked or idOf(mode, ARGV[3])
local answer = cancel(id)
local isReleased = marked
if answer == 'cancelled' and ARGV[4] == 'release' and not marked then
  local name = dataOf(redis.call('HGET', KEYS[3], id)).key
  if name and redis.call('GET', jobs .. 'de:' .. name) == id then
    isReleased = redis.call('DEL', jobs .. 'de:' .. name) == 1
  end
end
-- By its id the request names it itself: no id is left here of a notice that is erased.
if isReleased then redis.call('SET', KEYS[6], mode == 'key' and id or '1', 'PX', ${DONE_MS}) end
return { id, answer, isReleased and 1 or 0 }`,
  parse: (reply) => {
    const [id, answer, released] = reply as readonly [string, CancelAnswer, number];
    const keyReleased = released === 1 ? { keyReleased: true } : {};
    return { id, cancelled: answer === 'cancelled', answer, ...keyReleased };
  },
});

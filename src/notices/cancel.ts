import { randomUUID } from 'node:crypto';
import { END_STATES } from '../contracts/outcome.ts';
import type { RedisClient } from '../redis/connect.ts';
import { translated } from '../redis/failure.ts';
import { DONE_MS, type Keys } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';
import { ANNOUNCE, FIND_JOB, RELEASE_KEY, REMOVE_JOB } from './job-lua.ts';
import { readRef, type RefArguments } from './notice-ref.ts';
import type { CancelAnswer, CancelOptions, CancelReport, NoticeRef } from './notice-state.ts';

/** What becomes of a job: it is cancelled, perhaps with its key released, erased with all that is kept of it, or parked. */
type Way = 'cancel' | 'release' | 'erase' | 'park';

type EndAnswer = CancelAnswer | 'removed' | 'changed' | 'parked' | 'not-held';

/**
 * Cancels a notice that waits: delayed, held, or before a worker takes it. Safe to repeat.
 * @param nonce of the request, the same where it is repeated after a lost reply. Default: a new one
 * @throws InputError NOTICE_INVALID if the reference is no id or key
 */
export async function cancelNotice(
  redis: RedisClient,
  keys: Keys,
  ref: NoticeRef,
  { releaseKey = false }: CancelOptions = {},
  nonce?: string,
): Promise<CancelReport> {
  const report = await endJob(redis, keys, readRef(ref), releaseKey ? 'release' : 'cancel', nonce);
  return report as CancelReport;
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
  const { answer } = await endJob(redis, keys, { mode: 'id', text: id }, 'park');
  return answer === 'parked' || answer === 'not-held' ? answer : 'changed';
}

/** @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED */
export function endJob(
  redis: RedisClient,
  keys: Keys,
  { mode, text }: RefArguments,
  how: Way,
  nonce: string = randomUUID(),
) {
  const { hold, history, ended, account, events } = keys;
  const from = [hold, history, ended, account, events, keys.done(nonce)];
  return translated(cancelScript(redis, from, [keys.noticeJob(''), mode, text, how]));
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
 * To be erased it has no entry, and its key is released; a job that has ended is removed, too.
 *
 * A released key finds nothing any more, so the mark of the request tells its repetition which notice it was; after an erasure, what it did.
 *
 * KEYS: hold, histories of jobs, entries, account, events, mark of the request. ARGV: the prefix of BullMQ's keys, `id`
 * or `key`, the id or the hash of the key, what becomes of it.
 */
export const cancelScript = defineScript({
  name: 'cancel a notice',
  lua: `
local jobs, how = ARGV[1], ARGV[4]
${FIND_JOB}${ANNOUNCE}${REMOVE_JOB}${RELEASE_KEY}
local isOldCopy = (jsonOf(redis.call('HGET', KEYS[1], 'queue')) or {}).kind == 'restored'
local parks, erases = how == 'park', how == 'erase'
local function indexOf(state) return KEYS[3] .. ':at:' .. state end
local function isIn(state, id) return redis.call('ZSCORE', indexOf(state), id) end
local function stateOf(id)
  for _, state in ipairs({ '${END_STATES.join("', '")}' }) do
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
local function keyOf(id, job, data)
  local key = redis.call('HGET', job, 'deid')
  local hash = key and key ~= id and key or nested(data.earlier, 'key')
  return type(hash) == 'string' and hash or nil
end
local function record(id, job, text, data, state, code, possiblySent)
  local now = clock()
  local added, priority = unpack(redis.call('HMGET', job, 'timestamp', 'priority'))
  local template, contacts = nested(data.notice, 'templateCode'), nested(data.notice, 'contacts')
  redis.call('HSET', KEYS[3], id, cjson.encode({ at = now, state = state, code = code,
    template = type(template) == 'string' and template or '',
    contacts = type(contacts) == 'table' and #contacts or finite(contacts) or 0,
    attempts = finite(redis.call('HGET', job, 'atm')) or 0, possiblySent = possiblySent, delivery = data.delivery == 'at-most-once' and data.delivery or nil,
    enqueuedAt = finite(added), expiresAt = finite(data.expiresAt),
    priority = finite(priority), key = keyOf(id, job, data), data = text }))
  redis.call('ZADD', indexOf(state), now, id)
  announce(KEYS[4], KEYS[5], id, state, code)
end
local function cancel(id)
  if parks and not isOldCopy then return 'not-held' end
  local state = stateOf(id)
  if state then return erases and 'changed' or state end
  if not exists(id) then return 'not-kept' end
  local place, job = placeOf(id), jobs .. id
  local hasEnded = place == 'completed' or place == 'failed'
  if hasEnded and not erases then return place == 'completed' and 'accepted' or 'unknown' end
  if place == 'active' and (not parks or redis.call('EXISTS', job .. ':lock') == 1) then return 'sending' end
  local text = redis.call('HGET', job, 'data')
  local data = dataOf(text)
  local isSure = parks or hasEnded or not (isOldCopy or wasPossiblySent(id, job, data))
  if not isSure then return 'possibly-sent' end
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
  elseif erases then
    if not hasEnded then announce(KEYS[4], KEYS[5], id, 'cancelled', '') end
    releaseKey(keyOf(id, job, data) or id, id)
  else
    record(id, job, text, data, 'cancelled', '', 0)
  end
  removeJob(id)
  return hasEnded and 'removed' or parks and 'parked' or 'cancelled'
end
local mode, marked = ARGV[2], redis.call('GET', KEYS[6])
local id = mode == 'key' and marked or idOf(mode, ARGV[3])
local answer = erases and marked or cancel(id)
local isDone = marked or erases and (answer == 'cancelled' or answer == 'removed')
if answer == 'cancelled' and how == 'release' and not marked then
  isDone = releaseKey(dataOf(redis.call('HGET', KEYS[3], id)).key, id)
end
-- By its id the request names it itself: no id is left here of a notice that is erased.
if isDone then redis.call('SET', KEYS[6], mode == 'key' and id or answer, 'PX', ${DONE_MS}) end
return { id, answer, isDone and 1 or 0 }`,
  parse: (reply: unknown) => {
    const [id, answer, released] = reply as readonly [string, EndAnswer, number];
    const keyReleased = released === 1 ? { keyReleased: true } : {};
    return { id, cancelled: answer === 'cancelled', answer, ...keyReleased };
  },
});

import { randomUUID } from 'node:crypto';
import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import { DONE_MS, type Keys } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';
import { ANNOUNCE, EARLIER_FIELD, FIND_JOB, REMOVE_JOB } from './job-lua.ts';
import { readRef, type RefArguments } from './notice-ref.ts';
import type { CancelAnswer, CancelOptions, CancelReport, NoticeRef } from './notice-state.ts';

/**
 * Cancels a notice that waits: delayed, held, or before a worker takes it. Safe to repeat.
 *
 * @param nonce of the request, the same where it is repeated after a lost reply. Default: a new one
 * @throws InputError NOTICE_INVALID if the reference is no id or key
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function cancelNotice(
  redis: RedisClient,
  keys: Keys,
  ref: NoticeRef,
  options: CancelOptions = {},
  nonce?: string,
): Promise<CancelReport> {
  const asked = readRef(ref);
  try {
    return await cancelJob(redis, keys, asked, options, nonce);
  } catch (error) {
    throw redisFailure(error);
  }
}

/** Like {@link cancelNotice}. @throws ScriptFailure */
export async function cancelJob(
  redis: RedisClient,
  keys: Keys,
  { mode, text }: RefArguments,
  { releaseKey = false }: CancelOptions,
  nonce: string = randomUUID(),
): Promise<CancelReport> {
  const { hold, history, intents, retention, events } = keys;
  const from = [hold, history, intents.unknown, retention, events, keys.done(nonce)];
  const release = releaseKey ? 'release' : '';
  return cancelScript(redis, from, [keys.noticeJob(''), mode, text, release]);
}

/**
 * Cancels a job at one moment with the decision about it: it becomes a completed one with the outcome `cancelled`, so
 * that BullMQ keeps and deletes it like the others, a look-up and a search find it, and its idempotency key stays in use.
 *
 * | the job | answer |
 * |---|---|
 * | does not exist | not-kept |
 * | completed, cancelled | cancelled |
 * | completed | accepted or expired |
 * | listed as unknown, and not to be sent again | unknown |
 * | failed, settled in part | rejected: what is left of it would be listed if it was unknown |
 * | failed, possibly sent | unknown |
 * | failed | rejected |
 * | a worker has it | sending |
 * | waits, possibly sent, also in an earlier run, or settled in part | possibly-sent |
 * | waits, while Redis is held as an old copy | possibly-sent: it may have been sent after the copy was made |
 * | waits | cancelled: it leaves the queue in this moment |
 *
 * A released key finds nothing any more, so the mark of the request tells its repetition which notice it was.
 *
 * KEYS: hold, histories of jobs, unknown outcomes, retention, events, mark of the request. ARGV: the prefix of BullMQ's keys, `id`
 * or `key`, the id or the hash of the key, `release` or empty.
 */
export const cancelScript = defineScript<CancelReport>({
  name: 'cancel a notice',
  keys: 6,
  lua: `
local jobs = ARGV[1]
${FIND_JOB}${ANNOUNCE}${REMOVE_JOB}
local RESULT = '{"outcome":"cancelled","confirmed":true}'
local isOldCopy = redis.call('HGET', KEYS[1], 'kind') == 'restored'
local function outcomeOf(key)
  local result = redis.call('HGET', key, 'returnvalue')
  local outcome = result and string.match(result, '"outcome":"(%l+)"')
  return (outcome == 'cancelled' or outcome == 'expired') and outcome or 'accepted'
end
-- The stalls of an at-most-once notice say nothing: its intent tells.
local function isAtMostOnce(data)
  local ok, read = pcall(cjson.decode, data or '')
  return ok and type(read) == 'table' and read.delivery == 'at-most-once'
end
local function wasPossiblySent(id, key)
  local kept = redis.call('HMGET', key, 'stc', '${EARLIER_FIELD}', 'data')
  return (tonumber(kept[1] or 0) > 0 and not isAtMostOnce(kept[3]))
    or (kept[2] and string.find(kept[2], '"possiblySent":[1-9]'))
    or redis.call('HEXISTS', KEYS[2], 'unknown:' .. id) == 1
    or redis.call('HEXISTS', KEYS[2], 'intent:' .. id) == 1
    or redis.call('HEXISTS', KEYS[3], id) == 1
    or settledInPart(kept[3])
end
local function isListed(id)
  local listed = redis.call('HGET', KEYS[3], id)
  return listed and not cjson.decode(listed).resend
end
local function cancel(id)
  local key = jobs .. id
  if not exists(id) then return 'not-kept' end
  local place = placeOf(id)
  if place == 'completed' then return outcomeOf(key) end
  if isListed(id) then return 'unknown' end
  if place == 'active' then return 'sending' end
  if place == 'failed' and settledInPart(redis.call('HGET', key, 'data') or '') then return 'rejected' end
  local possiblySent = wasPossiblySent(id, key)
  if place == 'failed' then return possiblySent and 'unknown' or 'rejected' end
  if possiblySent or isOldCopy then return 'possibly-sent' end
  local left
  if place == 'wait' then
    -- New jobs are at this end, and are what is cancelled most.
    left = redis.call('LREM', jobs .. 'wait', 1, id) + redis.call('LREM', jobs .. 'paused', 1, id)
  else
    left = redis.call('ZREM', jobs .. place, id)
  end
  if left == 0 then return 'sending' end
  local now = clock()
  redis.call('HDEL', KEYS[2], 'trouble:' .. id)
  redis.call('HSET', key, 'returnvalue', RESULT, 'finishedOn', now)
  redis.call('ZADD', jobs .. 'completed', now, id)
  redis.call('XADD', jobs .. 'events', 'MAXLEN', '~', 10000, '*', 'event', 'completed', 'jobId', id,
    'returnvalue', RESULT, 'prev', place)
  announce(KEYS[4], KEYS[5], id, 'cancelled', '')
  return 'cancelled'
end
local mode, marked = ARGV[2], redis.call('GET', KEYS[6])
local id = mode == 'key' and marked or idOf(mode, ARGV[3])
local answer = cancel(id)
-- Without a key it has its own id there, by which a repeated add is recognized.
local isReleased = answer == 'cancelled' and ARGV[4] == 'release'
  and (marked or redis.call('HGET', jobs .. id, 'deid') ~= id and releaseKey(id))
-- By its id the request names it itself: no id is left here of a notice that is erased.
if isReleased then redis.call('SET', KEYS[6], mode == 'key' and id or '1', 'PX', ${DONE_MS}) end
return { id, answer, isReleased and 1 or 0 }`,
  parse: (reply) => {
    const [id, answer, released] = reply as readonly [string, CancelAnswer, number];
    const keyReleased = released === 1 ? { keyReleased: true } : {};
    return { id, cancelled: answer === 'cancelled', answer, ...keyReleased };
  },
});

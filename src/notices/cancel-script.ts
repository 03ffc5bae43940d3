import { DONE_MS } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';
import { JOBS_OF_NOTICE, REMOVE_JOB } from './jobs-of-notice.ts';
import { ANNOUNCE } from './notice-events.ts';
import { EARLIER_FIELD, PLACE_OF_JOB } from './look-up-script.ts';
import type { CancelAnswer } from './notice-state.ts';

/** Ids and answers of one run of the script. */
export interface CancelledJobs {
  readonly id: string;
  /** How many jobs the notice has; 0 where none is there. */
  readonly total: number;
  readonly jobs: readonly (readonly [id: string, answer: CancelAnswer])[];
  /** Its idempotency key is released, by this run or by the one that it repeats. */
  readonly keyReleased: boolean;
}

/**
 * Cancels the jobs of a notice from one on, each at one moment with the decision about it. A job that waits
 * becomes a completed one with the outcome `cancelled`, so that BullMQ keeps and deletes it like the others,
 * a look-up and a search find it, and its idempotency key stays in use.
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
 * The key is released with the last job, and only if all of them are cancelled: a new notice with the key would be sent
 * once more to the contacts of the others. For the same reason it is not released by the id of one of several jobs. A
 * released key finds nothing any more, so the mark of the request tells its repetition which notice it was.
 *
 * KEYS: hold, intents, unknown outcomes, retention, events, mark of the request. ARGV: the prefix of BullMQ's keys, `id`
 * or `key`, the id or the hash of the key, the number of the first job, the most jobs, and by what the request names the
 * notice whose key it releases: `id` or `key`; `no` where the key stays in use, or a job before is not cancelled.
 */
export const cancelScript = defineScript<CancelledJobs>({
  name: 'cancel a notice',
  keys: 6,
  lua: `
local jobs = ARGV[1]
${JOBS_OF_NOTICE}${PLACE_OF_JOB}${ANNOUNCE}${REMOVE_JOB}
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
  local kept = redis.call('HMGET', key, 'stc', 'failedReason', '${EARLIER_FIELD}', 'data')
  return (tonumber(kept[1] or 0) > 0 and not isAtMostOnce(kept[4]))
    or (kept[2] and string.find(kept[2], '(may have been taken', 1, true))
    or (kept[3] and string.find(kept[3], '"possiblySent":[1-9]'))
    or redis.call('HEXISTS', KEYS[2], id) == 1
    or redis.call('HEXISTS', KEYS[3], id) == 1
    or settledInPart(kept[4])
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
  redis.call('HSET', key, 'returnvalue', RESULT, 'finishedOn', now)
  redis.call('ZADD', jobs .. 'completed', now, id)
  redis.call('XADD', jobs .. 'events', 'MAXLEN', '~', 10000, '*', 'event', 'completed', 'jobId', id,
    'returnvalue', RESULT, 'prev', place)
  announce(KEYS[4], KEYS[5], key, id, 'cancelled', '')
  return 'cancelled'
end
local mode, text = ARGV[2], ARGV[3]
local release = ARGV[6]
local marked = release ~= 'no' and redis.call('GET', KEYS[6])
if marked and release == 'key' and mode == 'key' then mode, text = 'id', marked end
local id, total = find(mode, text)
local answers, last, all = {}, math.min(total, ARGV[4] + ARGV[5]) - 1, true
for index = tonumber(ARGV[4]), last do
  local one = nth(id, index, total)
  local answer = cancel(one)
  all = all and answer == 'cancelled'
  answers[#answers + 1] = { one, answer }
end
local isWhole = #answers > 0 and all and last == total - 1 and (total > 1 or not isPart(id))
-- Without a key it has its own id there, by which a repeated add is recognized.
local function hasKey(one) return redis.call('HGET', jobs .. one, 'deid') ~= one end
local isReleased = release ~= 'no' and isWhole and hasKey(nth(id, 0, total)) and releaseKey(nth(id, 0, total))
-- By its id the request names it itself: no id is left here of a notice that is erased.
if isReleased then redis.call('SET', KEYS[6], release == 'key' and id or '1', 'PX', ${DONE_MS}) end
return { id, total, answers, (isReleased or (marked and isWhole)) and 1 or 0 }`,
  parse: (reply) => {
    const [id, total, jobs, released] = reply as readonly [
      string,
      number,
      CancelledJobs['jobs'],
      number,
    ];
    return { id, total, jobs, keyReleased: released === 1 };
  },
});

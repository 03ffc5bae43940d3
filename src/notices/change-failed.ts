import { randomUUID } from 'node:crypto';
import { ERASED } from '../fleet/job-data.ts';
import type { RedisClient } from '../redis/connect.ts';
import { DONE_MS, type Keys } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';
import { ANNOUNCE, EARLIER_FIELD, REMOVE_JOB } from './job-lua.ts';
import { earlierSends, type EarlierRun, type NoticeView } from './notice-state.ts';

/**
 * Puts a failed job back into the queue, with all its attempts, as BullMQ's own retry does; at one moment with the
 * record of what it was before. The counter of deaths of its workers is part of that from then on, as is its entry among
 * the unknown outcomes, and the job waits since now (waitsSince in src/contracts/job.ts).
 *
 * | the job | answer |
 * |---|---|
 * | failed, with this end, and listed as unknown since another time, or not listed where it was | 0 |
 * | failed, with this end | 1: it will be sent again |
 * | any, after this request has put it back | 1 |
 * | any other | 0 |
 *
 * KEYS: the failed ones, retention, events, counts of possibly sent twice, unknown outcomes, their ids by time,
 * mark of the request, histories of jobs: what it met before says nothing about the next run. ARGV: the prefix of
 * BullMQ's keys, id, when it ended, the run as JSON, how many contacts are sent again that were possibly sent, since when it
 * is listed as unknown; empty where it is not.
 */
export const sendAgainScript = defineScript({
  name: 'send a failed notice again',
  keys: 8,
  lua: `
local jobs, id, endedAt = ARGV[1], ARGV[2], ARGV[3]
local job = jobs .. id
${ANNOUNCE}
if redis.call('EXISTS', KEYS[7]) == 1 then return 1 end
if not redis.call('ZSCORE', KEYS[1], id) then return 0 end
if redis.call('HGET', job, 'finishedOn') ~= endedAt then return 0 end
local listed = redis.call('HGET', KEYS[5], id)
if (listed and cjson.decode(listed).at or nil) ~= tonumber(ARGV[6]) then return 0 end
local kept = redis.call('HGET', job, '${EARLIER_FIELD}')
local runs = kept and cjson.decode(kept) or {}
local run = cjson.decode(ARGV[4])
run.at = clock()
run.endedAt = tonumber(endedAt)
runs[#runs + 1] = run
redis.call('HSET', job, '${EARLIER_FIELD}', cjson.encode(runs),
  'progress', cjson.encode({ sentAgainAt = run.at }))
announce(KEYS[2], KEYS[3], id, 'pending', '')
if tonumber(ARGV[5]) > 0 then redis.call('HINCRBY', KEYS[4], 'notices', ARGV[5]) end
redis.call('HDEL', job, 'stc', 'finishedOn', 'processedOn', 'failedReason', 'atm', 'ats', '${ERASED}')
redis.call('HDEL', KEYS[5], id)
redis.call('ZREM', KEYS[6], id)
redis.call('HDEL', KEYS[8], 'trouble:' .. id, 'unknown:' .. id)
redis.call('ZREM', KEYS[1], id)
local priority = tonumber(redis.call('HGET', job, 'priority') or 0)
if priority > 0 then
  local count = redis.call('INCR', jobs .. 'pc') % 0x100000000
  redis.call('ZADD', jobs .. 'prioritized', priority * 0x100000000 + count, id)
else
  redis.call('LPUSH', jobs .. 'wait', id)
end
local paused, most = unpack(redis.call('HMGET', jobs .. 'meta', 'paused', 'concurrency'))
-- Wakes a worker that waits.
if not paused and not (most and redis.call('LLEN', jobs .. 'active') >= tonumber(most)) then
  redis.call('ZADD', jobs .. 'marker', 0, '0')
end
redis.call('XADD', jobs .. 'events', 'MAXLEN', '~', 10000, '*', 'event', 'waiting', 'jobId', id, 'prev', 'failed')
redis.call('SET', KEYS[7], 1, 'PX', ${DONE_MS})
return 1`,
  parse: (reply: unknown) => reply === 1,
});

/**
 * Sends a failed notice again, under its id. What it was before stays in its history. Safe to repeat.
 *
 * @param twice its contacts, where the service may have accepted them: they count as possibly sent twice. Else 0
 * @param unknownSince since when it is listed as unknown; undefined where it is not
 * @returns false where it is not failed any more, or failed or became unknown again meanwhile
 * @throws ScriptFailure
 */
export function sendAgain(
  redis: RedisClient,
  keys: Keys,
  notice: NoticeView,
  twice: number,
  unknownSince?: number,
): Promise<boolean> {
  const { id, state, code = '', attempts, possiblySent, traceIds = [], earlier = [] } = notice;
  const before = earlierSends(earlier);
  const own = traceIds.slice(before.traceIds.length);
  const run: Omit<EarlierRun, 'at' | 'endedAt'> = {
    state: state === 'unknown' ? 'unknown' : 'rejected',
    code,
    attempts,
    possiblySent: possiblySent - before.possiblySent,
    ...(own.length === 0 ? {} : { traceIds: own }),
  };
  const { failedNotices, retention, events, possiblySentTwice, intents, history } = keys;
  const { unknown, unknownAt } = intents;
  const lists = [failedNotices, retention, events, possiblySentTwice, unknown, unknownAt];
  const args = [
    keys.noticeJob(''),
    id,
    String(notice.endedAt ?? ''),
    JSON.stringify(run),
    twice,
    unknownSince ?? '',
  ];
  return sendAgainScript(redis, [...lists, keys.done(randomUUID()), history], args);
}

/**
 * Removes a failed job at one moment with the decision about it. An unknown one leaves the list, and its new end is
 * announced.
 *
 * | the job | answer |
 * |---|---|
 * | any, after this request has removed it | 1 |
 * | not failed: it was sent again, or others removed it | 0 |
 * | failed and listed as unknown since this time, to end in a state | 1: removed |
 * | failed at this time, and not listed | 1: removed |
 * | any other: it has failed again | 0 |
 *
 * KEYS: the failed ones, unknown outcomes, their ids by time, retention, events, mark of the request. ARGV: the
 * prefix of BullMQ's keys, id, when it ended or became unknown, what becomes of its idempotency key ({@link KeyAfter}), the
 * state in which an unknown one ends; empty for a rejected one.
 */
export const removeFailedScript = defineScript({
  name: 'remove a failed job',
  keys: 6,
  lua: `
local jobs, id, since, key, state = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5]
local job = jobs .. id
${REMOVE_JOB}${ANNOUNCE}
if redis.call('EXISTS', KEYS[6]) == 1 then return 1 end
if not redis.call('ZSCORE', KEYS[1], id) then return 0 end
local listed = redis.call('HGET', KEYS[2], id)
if state ~= '' then
  if not listed or cjson.decode(listed).at ~= since then return 0 end
  -- First: a Redis that is out of memory takes this, and then the event.
  redis.call('HDEL', KEYS[2], id)
  redis.call('ZREM', KEYS[3], id)
  announce(KEYS[4], KEYS[5], id, state, '')
elseif listed or tonumber(redis.call('HGET', job, 'finishedOn')) ~= since then
  return 0
end
redis.call('ZREM', KEYS[1], id)
-- A new notice with the key would be sent once more to the contacts that are settled.
if key == 'erase' or key == 'release' and not settledInPart(redis.call('HGET', job, 'data') or '') then
  releaseKey(id)
end
removeJob(id)
redis.call('SET', KEYS[6], 1, 'PX', ${DONE_MS})
return 1`,
  parse: (reply: unknown) => reply === 1,
});

/**
 * What becomes of the idempotency key: `keep`, so that a repeated call queues nothing; `release`, unless the notice has
 * contacts with a result of their own; `erase`, whatever the notice is.
 */
type KeyAfter = 'keep' | 'release' | 'erase';

function remove(
  redis: RedisClient,
  keys: Keys,
  [id, since, key, state]: readonly [string, number | undefined, KeyAfter, string],
): Promise<boolean> {
  const { unknown, unknownAt } = keys.intents;
  const lists = [keys.failedNotices, unknown, unknownAt, keys.retention, keys.events];
  const args = [keys.noticeJob(''), id, String(since ?? ''), key, state];
  return removeFailedScript(redis, [...lists, keys.done(randomUUID())], args);
}

/**
 * Removes a failed notice that is not listed as unknown. Safe to repeat after a lost reply.
 *
 * @returns false where it is not failed any more, failed again meanwhile, or is listed
 * @throws ScriptFailure
 */
export function removeFailed(
  redis: RedisClient,
  keys: Keys,
  { id, endedAt }: Pick<NoticeView, 'id' | 'endedAt'>,
  key: KeyAfter,
): Promise<boolean> {
  return remove(redis, keys, [id, endedAt, key, '']);
}

/**
 * Ends an unknown notice in the state that was decided, and removes its job. Safe to repeat after a lost reply.
 *
 * @param notice `at`: since when it is listed as unknown
 * @returns false where another decision came first: it is not listed any more, or became unknown again meanwhile
 * @throws ScriptFailure
 */
export function endUnknown(
  redis: RedisClient,
  keys: Keys,
  { id, at }: { readonly id: string; readonly at: number },
  state: 'accepted' | 'cancelled',
  key: 'keep' | 'erase',
): Promise<boolean> {
  return remove(redis, keys, [id, at, key, state]);
}

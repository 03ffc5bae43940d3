import { randomUUID } from 'node:crypto';
import type { RedisClient } from '../redis/connect.ts';
import { DONE_MS, type Keys } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';
import { REMOVE_JOB } from './jobs-of-notice.ts';
import { EARLIER_FIELD } from './look-up-script.ts';
import { ANNOUNCE } from './notice-events.ts';
import type { NoticeJob } from './notice-state.ts';

/**
 * Removes a failed job at one moment with the decision about it. An unknown one leaves the list, and its new end is
 * announced.
 *
 * | the job | answer |
 * |---|---|
 * | any, after this request has removed it | 1 |
 * | not failed: it was sent again, or others removed it | 0 |
 * | failed and listed as unknown since this time, to end in a state | 1: removed |
 * | failed at this time, not listed, and not recorded as sent again | 1: removed |
 * | any other: it has failed again | 0 |
 *
 * KEYS: the failed ones, unknown outcomes, their ids by time, retention, events of notices, mark of the request. ARGV: the
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
  announce(KEYS[4], KEYS[5], job, id, state, '')
else
  if listed or tonumber(redis.call('HGET', job, 'finishedOn')) ~= since then return 0 end
  local kept = redis.call('HGET', job, '${EARLIER_FIELD}')
  local runs = kept and cjson.decode(kept) or {}
  -- A process of an earlier version is about to send it again.
  if #runs > 0 and runs[#runs].endedAt == since then return 0 end
end
redis.call('ZREM', KEYS[1], id)
local data = redis.call('HGET', job, 'data') or ''
-- A new notice with the key would be sent once more to the contacts of the other jobs, and to those that are settled.
if key == 'erase' or key == 'release' and not isPart(id) and not settledInPart(data) then releaseKey(id) end
removeJob(id)
redis.call('SET', KEYS[6], 1, 'PX', ${DONE_MS})
return 1`,
  parse: (reply: unknown) => reply === 1,
});

/**
 * What becomes of the idempotency key: `keep`, so that a repeated call queues nothing; `release`, unless the notice has
 * several jobs or contacts with a result of their own; `erase`, whatever the notice is.
 */
type KeyAfter = 'keep' | 'release' | 'erase';

function remove(
  redis: RedisClient,
  keys: Keys,
  [id, since, key, state]: readonly [string, number | undefined, KeyAfter, string],
): Promise<boolean> {
  const { unknown, unknownAt } = keys.intents;
  const lists = [keys.failedNotices, unknown, unknownAt, keys.retention, keys.noticeEvents];
  const args = [keys.noticeJob(''), id, String(since ?? ''), key, state];
  return removeFailedScript(redis, [...lists, keys.done(randomUUID())], args);
}

/**
 * Removes a failed notice that is not listed as unknown. Safe to repeat after a lost reply.
 *
 * @returns false where it is not failed any more, failed again meanwhile, is listed, or is about to be sent again
 * @throws ScriptFailure
 */
export function removeFailed(
  redis: RedisClient,
  keys: Keys,
  { id, endedAt }: Pick<NoticeJob, 'id' | 'endedAt'>,
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

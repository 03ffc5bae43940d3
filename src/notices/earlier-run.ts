import { randomUUID } from 'node:crypto';
import type { RedisClient } from '../redis/connect.ts';
import { DONE_MS, type Keys } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';
import { REMOVE_JOB } from './jobs-of-notice.ts';
import { EARLIER_FIELD } from './look-up-script.ts';
import { ANNOUNCE } from './notice-events.ts';
import type { EarlierRun, NoticeJob } from './notice-state.ts';

/**
 * Adds a run to the history of a failed job, once for each end; the counter of deaths of its workers is part
 * of it from then on. KEYS: the job, the failed ones, retention, events. ARGV: id, the run as JSON, when it ended.
 */
const rememberScript = defineScript({
  name: 'remember a run',
  keys: 4,
  lua: `${ANNOUNCE}
if not redis.call('ZSCORE', KEYS[2], ARGV[1]) then return 0 end
if redis.call('HGET', KEYS[1], 'finishedOn') ~= ARGV[3] then return 0 end
local kept = redis.call('HGET', KEYS[1], '${EARLIER_FIELD}')
local run = cjson.decode(ARGV[2])
run.at = clock()
run.endedAt = tonumber(ARGV[3])
local runs = kept and cjson.decode(kept) or {}
if #runs > 0 and runs[#runs].endedAt == run.endedAt then return 1 end
runs[#runs + 1] = run
redis.call('HSET', KEYS[1], '${EARLIER_FIELD}', cjson.encode(runs))
redis.call('HDEL', KEYS[1], 'stc')
announce(KEYS[3], KEYS[4], KEYS[1], ARGV[1], 'pending', '')
return 1`,
  parse: (reply: unknown) => reply === 1,
});

/**
 * Deletes a failed job at one moment with the decision about it. KEYS: the failed ones, unknown outcomes, mark of the
 * request. ARGV: the prefix of BullMQ's keys, id, when it ended, 1 to release the idempotency key.
 */
export const deleteScript = defineScript({
  name: 'delete a failed job',
  keys: 3,
  lua: `
local jobs, id = ARGV[1], ARGV[2]
${REMOVE_JOB}
if redis.call('EXISTS', KEYS[3]) == 1 then return 1 end
if not redis.call('ZSCORE', KEYS[1], id) then return 0 end
if redis.call('HGET', jobs .. id, 'finishedOn') ~= ARGV[3] then return 0 end
if redis.call('HEXISTS', KEYS[2], id) == 1 then return 0 end
local kept = redis.call('HGET', jobs .. id, '${EARLIER_FIELD}')
local runs = kept and cjson.decode(kept) or {}
-- It is about to be sent again.
if #runs > 0 and runs[#runs].endedAt == tonumber(ARGV[3]) then return 0 end
redis.call('ZREM', KEYS[1], id)
if ARGV[4] == '1' then releaseKey(id) end
removeJob(id)
redis.call('SET', KEYS[3], 1, 'PX', ${DONE_MS})
return 1`,
  parse: (reply: unknown) => reply === 1,
});

/**
 * Deletes a rejected notice. Safe to repeat after a lost reply.
 *
 * @returns false where it is not failed any more, failed again meanwhile, is unknown, or is about to be sent again
 * @throws ScriptFailure
 */
export function deleteFailed(
  redis: RedisClient,
  keys: Keys,
  { id, endedAt }: Pick<NoticeJob, 'id' | 'endedAt'>,
  releaseKey: boolean,
): Promise<boolean> {
  const from = [keys.failedNotices, keys.intents.unknown, keys.done(randomUUID())];
  const args = [keys.noticeJob(''), id, String(endedAt ?? ''), releaseKey ? 1 : 0];
  return deleteScript(redis, from, args);
}

/**
 * Stores what is known of a failed notice, before it is sent again under its id. Safe to repeat.
 *
 * @returns false where it is not failed any more, or failed again meanwhile
 * @throws ScriptFailure
 */
export function rememberRun(
  redis: RedisClient,
  keys: Keys,
  { id, state, code = '', attempts, possiblySent, earlier = [], endedAt }: NoticeJob,
): Promise<boolean> {
  const before = earlier.reduce((sum, run) => sum + run.possiblySent, 0);
  const run: Omit<EarlierRun, 'at' | 'endedAt'> = {
    state: state === 'unknown' ? 'unknown' : 'rejected',
    code,
    attempts,
    possiblySent: possiblySent - before,
  };
  const jobKeys = [keys.noticeJob(id), keys.failedNotices, keys.retention, keys.noticeEvents];
  return rememberScript(redis, jobKeys, [id, JSON.stringify(run), String(endedAt ?? '')]);
}

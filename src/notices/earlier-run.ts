import { randomUUID } from 'node:crypto';
import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';
import { EARLIER_FIELD } from './look-up-script.ts';
import { ANNOUNCE } from './notice-events.ts';
import type { EarlierRun, NoticeJob } from './notice-state.ts';

/**
 * Adds a run to the history of a failed job, once for each end; the counter of deaths of its workers is part
 * of it from then on, and the job waits since now (waitsSince in src/contracts/job.ts). KEYS: the job, the failed ones,
 * retention, events. ARGV: id, the run as JSON, when it ended.
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
redis.call('HSET', KEYS[1], '${EARLIER_FIELD}', cjson.encode(runs),
  'progress', cjson.encode({ sentAgainAt = run.at }))
redis.call('HDEL', KEYS[1], 'stc')
announce(KEYS[3], KEYS[4], KEYS[1], ARGV[1], 'pending', '')
return 1`,
  parse: (reply: unknown) => reply === 1,
});

/** The request that deletes a job. */
const DELETED_BY = 'notices:deleted-by';

/** Time for the removal of a job that is taken; it is deleted even where the process dies before. */
const DELETE_MS = 60_000;

/**
 * Takes a failed job out of the queue, so that it cannot be sent again. KEYS: the job, the failed ones, unknown
 * outcomes. ARGV: id, when it ended, nonce of the request, 1 to release the idempotency key.
 */
const takeScript = defineScript({
  name: 'take a failed job',
  keys: 3,
  lua: `
local deletedBy = redis.call('HGET', KEYS[1], '${DELETED_BY}')
if deletedBy then return deletedBy == ARGV[3] and 1 or 0 end
if not redis.call('ZSCORE', KEYS[2], ARGV[1]) then return 0 end
if redis.call('HGET', KEYS[1], 'finishedOn') ~= ARGV[2] then return 0 end
if redis.call('HEXISTS', KEYS[3], ARGV[1]) == 1 then return 0 end
local kept = redis.call('HGET', KEYS[1], '${EARLIER_FIELD}')
local runs = kept and cjson.decode(kept) or {}
-- It is about to be sent again.
if #runs > 0 and runs[#runs].endedAt == tonumber(ARGV[2]) then return 0 end
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('HSET', KEYS[1], '${DELETED_BY}', ARGV[3])
-- Removing a job also removes its idempotency key, unless the job has lost this field.
if ARGV[4] ~= '1' then redis.call('HDEL', KEYS[1], 'deid') end
redis.call('PEXPIRE', KEYS[1], ${DELETE_MS})
return 1`,
  parse: (reply: unknown) => reply === 1,
});

/**
 * Takes a rejected notice out of the queue, before its job is removed. Safe to repeat after a lost reply.
 *
 * @returns false where it is not failed any more, failed again meanwhile, is unknown, or is about to be sent again
 * @throws ScriptFailure
 */
export function takeFailed(
  redis: RedisClient,
  keys: Keys,
  { id, endedAt }: Pick<NoticeJob, 'id' | 'endedAt'>,
  releaseKey: boolean,
): Promise<boolean> {
  const from = [keys.noticeJob(id), keys.failedNotices, keys.intents.unknown];
  return takeScript(redis, from, [id, String(endedAt ?? ''), randomUUID(), releaseKey ? 1 : 0]);
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

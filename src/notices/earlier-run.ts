import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';
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

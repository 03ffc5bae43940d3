import { ERASED } from '../notices/end-scripts.ts';
import { FIND_JOB } from '../notices/job-lua.ts';
import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';

/** `changed`: the data is no longer what was read. */
export type ReplaceAnswer = 'done' | 'gone' | 'changed' | 'sending';

/** KEYS: the job. ARGV: the prefix of BullMQ's keys, the id, the data as it was read, the new data. */
const replaceScript = defineScript<ReplaceAnswer>({
  name: 'replace the data of a notice',
  keys: 1,
  lua: `
local jobs, id = ARGV[1], ARGV[2]
${FIND_JOB}
local data = redis.call('HGET', KEYS[1], 'data')
if not data then return 'gone' end
if data == ARGV[4] then return 'done' end
if data ~= ARGV[3] then return 'changed' end
if placeOf(id) == 'active' then return 'sending' end
redis.call('HSET', KEYS[1], 'data', ARGV[4], '${ERASED}', redis.call('HGET', KEYS[1], 'ats') or '0')
return 'done'`,
  parse: (reply) => reply as ReplaceAnswer,
});

/** Replaces the data of a notice's job, unless a worker has it. Safe to repeat. */
export function replaceData(
  redis: RedisClient,
  keys: Pick<Keys, 'noticeJob'>,
  id: string,
  was: string,
  data: string,
): Promise<ReplaceAnswer> {
  return replaceScript(redis, [keys.noticeJob(id)], [keys.noticeJob(''), id, was, data]);
}

import { ERASED } from '../fleet/job-data.ts';
import { ANNOUNCE, FIND_JOB } from '../notices/job-lua.ts';
import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';
import type { EndForOthers } from './without-number.ts';

/**
 * `changed`: the data is no longer what was read. `possibly-sent`: the notice would end anew, but has not ended: it waits
 * for another attempt.
 */
export type ReplaceAnswer = 'done' | 'gone' | 'changed' | 'sending' | 'possibly-sent';

/**
 * If the notice is listed as unknown, it is so for the contacts that are left, or leaves the list where it ends anew in
 * another state. KEYS: the job, retention, events, unknown outcomes, their ids by time. ARGV: the prefix of
 * BullMQ's keys, the id, the data as it was read, the new data; where the notice ends anew its state and the code of a failure, else two empty texts; what changes in its entry among the unknown
 * outcomes, as JSON.
 */
const replaceScript = defineScript<ReplaceAnswer>({
  name: 'replace the data of a notice',
  keys: 5,
  lua: `
local jobs, id = ARGV[1], ARGV[2]
${FIND_JOB}${ANNOUNCE}
local data = redis.call('HGET', KEYS[1], 'data')
if not data then return 'gone' end
if data == ARGV[4] then return 'done' end
if data ~= ARGV[3] then return 'changed' end
local place = placeOf(id)
if place == 'active' then return 'sending' end
local state = ARGV[5]
if state ~= '' then
  if place ~= 'completed' and place ~= 'failed' then return 'possibly-sent' end
  local endedAt = redis.call('ZSCORE', jobs .. place, id)
  redis.call('ZREM', jobs .. place, id)
  -- What was possibly sent was so for the contacts that are gone.
  redis.call('HDEL', KEYS[1], 'returnvalue', 'failedReason', 'stc')
  if state == 'accepted' then
    redis.call('ZADD', jobs .. 'completed', endedAt, id)
    redis.call('HSET', KEYS[1], 'returnvalue', '{"outcome":"accepted","confirmed":true}')
  else
    redis.call('ZADD', jobs .. 'failed', endedAt, id)
    redis.call('HSET', KEYS[1], 'failedReason', ARGV[6])
  end
end
redis.call('HSET', KEYS[1], 'data', ARGV[4], '${ERASED}', redis.call('HGET', KEYS[1], 'ats') or '0')
local listed = redis.call('HGET', KEYS[4], id)
if listed and state ~= '' and state ~= 'unknown' then
  redis.call('HDEL', KEYS[4], id)
  redis.call('ZREM', KEYS[5], id)
elseif listed then
  local entry = cjson.decode(listed)
  for name, value in pairs(cjson.decode(ARGV[7])) do entry[name] = value end
  redis.call('HSET', KEYS[4], id, cjson.encode(entry))
end
if state ~= '' then
  announce(KEYS[2], KEYS[3], id, state, ARGV[6])
end
return 'done'`,
  parse: (reply) => reply as ReplaceAnswer,
});

/** Data of a job as it was read, and what it becomes. */
export interface ReplacedData {
  readonly was: string;
  readonly data: string;
  /** How many contacts the notice has then, without those that have a result of their own. */
  readonly contacts: number;
  /** Where the notice ends anew: its end is recorded, too. */
  readonly end?: EndForOthers | undefined;
}

/**
 * Replaces the data of a notice's job, unless a worker has it. Safe to repeat.
 *
 * @throws ScriptFailure
 */
export async function replaceData(
  redis: RedisClient,
  keys: Pick<Keys, 'noticeJob' | 'retention' | 'events' | 'intents'>,
  id: string,
  { was, data, contacts, end }: ReplacedData,
): Promise<ReplaceAnswer> {
  const { unknown, unknownAt } = keys.intents;
  const from = [keys.noticeJob(id), keys.retention, keys.events, unknown, unknownAt];
  const { possiblySent, traceIds = [] } = end?.sends ?? {};
  // An empty list would come back from Lua as an object.
  const earlierTraceIds = traceIds.length > 1 ? traceIds.slice(0, -1) : undefined;
  const sends = { possiblySent, traceId: traceIds.at(-1), earlierTraceIds };
  const changed = JSON.stringify({ contacts, ...sends });
  const args = [keys.noticeJob(''), id, was, data, end?.state ?? '', end?.code ?? '', changed];
  return replaceScript(redis, from, args);
}

import type { RedisClient } from '../redis/connect.ts';
import { defineScript } from '../redis/script.ts';

/** A run of a job. */
export interface JobRun {
  /** Of its lock. */
  readonly token: string;
  /** How many runs had started, with it. */
  readonly started: number;
  /** When the job was added: a person may have sent the notice again since, as another job with its id. */
  readonly addedAt: number;
}

/** Field of a job: how many of its runs had started when contacts were last erased from its data. */
export const ERASED = 'notices:erased';

/**
 * KEYS: the job, its lock. ARGV: token of the lock, how many runs had started, the data, when the job was added.
 *
 * | the job | its data |
 * |---|---|
 * | gone | not written |
 * | it has these data: a repetition | written |
 * | a person has sent it again since | left |
 * | this run has its lock | written |
 * | it has no lock, it has not ended, and no other run has started | written: this one knows more than what is stored |
 * | the same, but contacts were erased since | left |
 * | any other: another run has it or had it, or a person has changed it since it ended | left |
 */
const replaceScript = defineScript({
  name: 'replace the data of a job',
  keys: 2,
  lua: `
local lock = redis.call('GET', KEYS[2])
local data, ended, started, added, erased =
  unpack(redis.call('HMGET', KEYS[1], 'data', 'finishedOn', 'ats', 'timestamp', '${ERASED}'))
if not data then return 0 end
if data == ARGV[3] then return 1 end
if added ~= ARGV[4] then return 0 end
local isOurs = lock == ARGV[1]
local isFree = not lock and not ended and started == ARGV[2] and erased ~= started
if not isOurs and not isFree then return 0 end
alsoWhenFull()
redis.call('HSET', KEYS[1], 'data', ARGV[3])
return 1`,
  parse: (reply: unknown) => reply === 1,
});

/**
 * Replaces the data of a job, unless this run of it comes too late: BullMQ's own command writes over what a later run, a
 * redrive or an erasure has stored meanwhile. Safe to repeat.
 *
 * @returns whether it was written
 * @throws ScriptFailure
 */
export async function replaceJobData(
  redis: RedisClient,
  jobKey: string,
  { token, started, addedAt }: JobRun,
  data: string,
): Promise<boolean> {
  const args = [token, started, data, addedAt];
  return await replaceScript(redis, [jobKey, `${jobKey}:lock`], args);
}

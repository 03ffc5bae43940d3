import type { RedisClient } from '../redis/connect.ts';
import { defineScript } from '../redis/script.ts';

/** A run of a job. */
export interface JobRun {
  /** Of its lock. */
  readonly token: string;
  /** How many runs had started, with it. */
  readonly started: number;
}

/**
 * KEYS: the job, its lock. ARGV: token of the lock, how many runs had started, the data.
 *
 * | the job | its data |
 * |---|---|
 * | gone | not written |
 * | this run has its lock | written |
 * | it has no lock, it has not ended, and no other run has started | written: this one knows more than what is stored |
 * | any other: another run has it or had it, or a person has changed it since it ended | left |
 */
const replaceScript = defineScript({
  name: 'replace the data of a job',
  keys: 2,
  lua: `
local lock = redis.call('GET', KEYS[2])
local data, ended, started = unpack(redis.call('HMGET', KEYS[1], 'data', 'finishedOn', 'ats'))
if not data then return 0 end
local isOurs = lock == ARGV[1]
local isFree = not lock and not ended and started == ARGV[2]
if not isOurs and not isFree then return 0 end
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
  { token, started }: JobRun,
  data: string,
): Promise<boolean> {
  return await replaceScript(redis, [jobKey, `${jobKey}:lock`], [token, started, data]);
}

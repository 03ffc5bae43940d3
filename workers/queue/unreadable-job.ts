import type { Job } from 'bullmq';
import { SET_ASIDE_FIELD } from '../../src/contracts/job.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import { defineScript } from '../../src/redis/script.ts';
import { jobKeyOf } from './send-job.ts';

const setAside = defineScript({
  name: 'set the data of a job aside',
  keys: 1,
  lua: `
  local data = redis.call('HGET', KEYS[1], 'data')
  if not data or data == 'null' then return 0 end
  return redis.call('HSET', KEYS[1], '${SET_ASIDE_FIELD}', data, 'data', 'null')`,
});

/**
 * Replaces data that is not JSON by null, which every reader of the queue understands; the text is kept in
 * a field of the job. The run then fails the job for good.
 */
export async function setDataAside(job: Job, redis: RedisClient): Promise<void> {
  await setAside(redis, [jobKeyOf(job)], []);
}

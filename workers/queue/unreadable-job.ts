import type { Job } from 'bullmq';
import { SET_ASIDE_FIELD, SET_ASIDE_OPTIONS_FIELD } from '../../src/contracts/job.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import { defineScript } from '../../src/redis/script.ts';
import { jobKeyOf } from './send-job.ts';
import { areOptions } from './unreadable-options.ts';

const setAside = defineScript({
  name: 'set the data of a job aside',
  keys: 1,
  lua: `
  local data, options = unpack(redis.call('HMGET', KEYS[1], 'data', 'opts'))
  if options and options ~= '' and options == ARGV[1] then
    redis.call('HSET', KEYS[1], '${SET_ASIDE_OPTIONS_FIELD}', options, 'opts', '{}')
  end
  if not data or data == 'null' then return 0 end
  return redis.call('HSET', KEYS[1], '${SET_ASIDE_FIELD}', data, 'data', 'null')`,
});

/**
 * Replaces the data of a job of which the data or the options are not JSON by null, and such options by none,
 * which every reader of the queue understands; the texts are kept in fields of the job. The run then fails the
 * job for good.
 */
export async function setDataAside(job: Job, redis: RedisClient): Promise<void> {
  const key = jobKeyOf(job);
  const options = await redis.hget(key, 'opts');
  const unreadable = options === null || areOptions(options) ? '' : options;
  await setAside(redis, [key], [unreadable]);
}

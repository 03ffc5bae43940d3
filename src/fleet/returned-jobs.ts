import type { RedisClient } from '../redis/connect.ts';
import { defineScript } from '../redis/script.ts';

/** Field of a job: when a worker returned it first. */
export const RETURNED = 'notices:returned';

const returned = defineScript({
  name: 'note the return of a job',
  keys: 1,
  lua: `
  if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
  redis.call('HSETNX', KEYS[1], '${RETURNED}', clock())
  return clock() - tonumber(redis.call('HGET', KEYS[1], '${RETURNED}'))`,
  parse: Number,
});

/**
 * Notes in the job that a worker returns it for other workers, because it cannot run it.
 *
 * @returns milliseconds since the first return by any worker; 0 for the first one
 */
export function returnedForMs(redis: RedisClient, jobKey: string): Promise<number> {
  return returned(redis, [jobKey], []);
}

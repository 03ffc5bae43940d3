import type { RedisClient } from '../../redis/connect.ts';
import { redisFailure } from '../../redis/failure.ts';
import type { Keys } from '../../redis/keys.ts';
import { defineScript } from '../../redis/script.ts';

/**
 * Turns a notice into an at-most-once notice with an open intent: the next run of its job finds the
 * intent, sends nothing, and lists the notice as unknown (job-history.ts). Only while the queue is held, so
 * that no run is in progress.
 *
 * KEYS: the hold, the histories of jobs, the notice's job. ARGV: job id, its data as it was read, its data with
 * the delivery policy. Answers 1; 0 when the job changed or no longer exists; -1 when the queue is not
 * held as restored.
 */
const parkRestored = defineScript({
  name: 'park restored',
  keys: 3,
  lua: `
if redis.call('HGET', KEYS[1], 'kind') ~= 'restored' then return -1 end
if redis.call('HGET', KEYS[3], 'data') ~= ARGV[2] or redis.call('HEXISTS', KEYS[3], 'finishedOn') == 1 then
  return 0
end
redis.call('HSET', KEYS[3], 'data', ARGV[3])
local field = 'intent:' .. ARGV[1]
if redis.call('HEXISTS', KEYS[2], field) == 0 then
  redis.call('HSET', KEYS[2], field, cjson.encode({ nonce = 'restored', at = clock(), worker = 'restored' }))
end
return 1`,
});

/**
 * Parks a notice of an old copy: it is not sent, but listed as unknown after the hold is lifted. Safe to
 * repeat.
 * @param data of its job, as it is stored in Redis
 */
export async function parkRestoredNotice(
  redis: RedisClient,
  keys: Pick<Keys, 'hold' | 'history' | 'noticeJob'>,
  { id, data }: { readonly id: string; readonly data: string },
): Promise<'parked' | 'changed' | 'not-held'> {
  const atMostOnce = { ...(JSON.parse(data) as object), delivery: 'at-most-once' };
  const taken = [keys.hold, keys.history, keys.noticeJob(id)];
  try {
    const reply = await parkRestored(redis, taken, [id, data, JSON.stringify(atMostOnce)]);
    return reply === 1 ? 'parked' : reply === 0 ? 'changed' : 'not-held';
  } catch (error) {
    throw redisFailure(error);
  }
}

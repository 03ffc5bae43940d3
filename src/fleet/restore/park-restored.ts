import type { RedisClient } from '../../redis/connect.ts';
import { redisFailure } from '../../redis/failure.ts';
import type { Keys } from '../../redis/keys.ts';
import { defineScript } from '../../redis/script.ts';

/**
 * Makes of a notice one that is sent at most once and was begun before: the next run of its job finds
 * that, sends nothing, and lists it as unknown (intents.ts). Only while the queue is held, so that no
 * run is under way.
 *
 * KEYS: the hold, the intents that were begun, the notice's job. ARGV: job id, its data as it was read,
 * its data with the delivery policy. Answers 1, 0 where the job has changed or is no more, or -1 where
 * the queue is not held for an old copy.
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
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 0 then
  redis.call('HSET', KEYS[2], ARGV[1], cjson.encode({ nonce = 'restored', at = clock(), worker = 'restored' }))
end
return 1`,
});

/**
 * Sets a notice of an old copy aside: it is not sent, but listed as unknown once the hold is lifted.
 * Safe to repeat.
 *
 * @param data of its job, as it stands in Redis
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function parkRestoredNotice(
  redis: RedisClient,
  keys: Pick<Keys, 'hold' | 'intents' | 'noticeJob'>,
  { id, data }: { readonly id: string; readonly data: string },
): Promise<'parked' | 'changed' | 'not-held'> {
  const atMostOnce = { ...(JSON.parse(data) as object), delivery: 'at-most-once' };
  const taken = [keys.hold, keys.intents.begun, keys.noticeJob(id)];
  try {
    const reply = await parkRestored(redis, taken, [id, data, JSON.stringify(atMostOnce)]);
    return reply === 1 ? 'parked' : reply === 0 ? 'changed' : 'not-held';
  } catch (error) {
    throw redisFailure(error);
  }
}

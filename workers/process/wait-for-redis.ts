import type { Logger } from 'pino';
import { unlessAborted } from '../../src/async/cancellation.ts';
import { connectRedis, readyWithin } from '../../src/redis/connect.ts';
import { requireSuitable } from '../../src/redis/suitability.ts';
import type { WorkerProgram } from '../maintenance/worker-basis.ts';

const LOG_EVERY_MS = 5_000;

/**
 * Connects to Redis, waits as long as it is unavailable, and checks that it meets the requirements of the
 * queue; what is `found` is only logged as warnings.
 * @param onError called with each error of the connections
 * @returns undefined if the worker is stopped first
 * @throws NoticeQueueError REDIS_UNSUITABLE, QUEUE_REFUSED
 */
export async function waitForRedis(
  config: Pick<WorkerProgram, 'redis' | 'redisWatch'>,
  onError: (error: Error) => void,
  log: Logger,
  abandoned: AbortSignal,
) {
  const redis = connectRedis(config.redis, 'worker', onError);
  const subscriber = connectRedis(config.redis, 'subscriber', onError);
  const disconnect = () => {
    redis.disconnect();
    subscriber.disconnect();
  };
  try {
    while (!(await readyWithin(redis, LOG_EVERY_MS, abandoned)) && !abandoned.aborted) {
      log.warn({ event: 'waiting-for-redis' }, 'Redis does not answer yet; check REDIS_URL');
    }
    // If Redis becomes unavailable again, this waits for it.
    const suitable = requireSuitable(redis, config.redisWatch);
    const found = await unlessAborted(suitable, abandoned);
    if (found !== undefined) return { redis, subscriber, found, disconnect };
  } catch (error) {
    disconnect();
    throw error;
  }
  disconnect();
  return undefined;
}

import { NoticeQueueError } from '../contracts/errors.ts';
import {
  addressOf,
  connectRedis,
  readyWithin,
  type RedisClient,
  type RedisSettings,
} from './connect.ts';
import { redisErrorCode, redisFailure } from './failure.ts';

/**
 * Opens a connection for one task, waits until it can take commands, and closes it afterwards.
 *
 * @param timeoutMs limit of the first connection, and of each command
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED, and what `use` throws
 */
export async function withRedis<Result>(
  settings: RedisSettings,
  timeoutMs: number,
  use: (redis: RedisClient) => Promise<Result>,
): Promise<Result> {
  let lastError: Error | undefined;
  const onError = (error: Error) => {
    lastError = error;
  };
  const redis = connectRedis(settings, 'reader', onError, timeoutMs);
  try {
    if (!(await readyWithin(redis, timeoutMs))) throw redisFailure(lastError);
    return await use(redis);
  } catch (error) {
    if (!(error instanceof NoticeQueueError) || error.code !== 'QUEUE_UNAVAILABLE') throw error;
    // The general message is about a notice that may have been queued; these tasks queue none.
    const reason = lastError === undefined ? 'no answer' : redisErrorCode(lastError);
    throw new NoticeQueueError(
      error.code,
      `Redis at ${addressOf(settings)} did not answer within ${timeoutMs} ms (${reason}).`,
    );
  } finally {
    redis.disconnect();
  }
}

/** Keys per SCAN: a few milliseconds of the server's time. */
const STEP = 2_000;

/**
 * The keys that match a pattern, page by page; a key may come twice. Scans all keys of the server in steps.
 */
export async function* scanKeys(
  redis: RedisClient,
  pattern: string,
): AsyncGenerator<readonly string[]> {
  let cursor = '0';
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', pattern, 'COUNT', STEP);
    if (keys.length > 0) yield keys;
    cursor = next;
  } while (cursor !== '0');
}

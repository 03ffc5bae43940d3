import type { RedisClient } from '../../redis/connect.ts';
import { CHUNK_QUEUE_NAME, QUEUE_NAME, type Keys } from '../../redis/keys.ts';
import { openBullQueue } from '../../redis/open-queue.ts';

/** Jobs that one script deletes at most: Redis does nothing else meanwhile. */
const AT_ONCE = 1_000;

/** How long ended jobs are kept, in milliseconds. */
export interface KeepTimes {
  /** KEEP_ACCEPTED_MS */
  readonly keepAcceptedMs: number;
  /** KEEP_FAILED_MS */
  readonly keepFailedMs: number;
}

/**
 * Deletes ended jobs whose time is over (KEEP_ACCEPTED_MS, KEEP_FAILED_MS), personal data included. BullMQ does it
 * only when another job ends in the same way, which in an idle queue may be never.
 *
 * @param signal aborted when the process stops: the rest is left to the next turn
 */
export async function deleteEnded(
  redis: RedisClient,
  keys: Pick<Keys, 'bullPrefix'>,
  { keepAcceptedMs, keepFailedMs }: KeepTimes,
  signal: AbortSignal,
): Promise<void> {
  const ended = [
    { name: QUEUE_NAME, state: 'completed', keepMs: keepAcceptedMs },
    { name: QUEUE_NAME, state: 'failed', keepMs: keepFailedMs },
    { name: CHUNK_QUEUE_NAME, state: 'failed', keepMs: keepFailedMs },
  ] as const;
  for (const { name, state, keepMs } of ended) {
    const queue = openBullQueue(name, redis, keys);
    try {
      let deleted = AT_ONCE;
      while (deleted === AT_ONCE && !signal.aborted) {
        deleted = (await queue.clean(keepMs, AT_ONCE, state)).length;
      }
    } finally {
      await queue.close();
    }
  }
}

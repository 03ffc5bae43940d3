import { LANES, type LaneName } from '../contracts/seen-attempt.ts';
import type { RedisClient } from '../redis/connect.ts';
import { redisFailure } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';

/**
 * Contacts that were sent again although the service may have accepted an earlier request, by lane. At most
 * so many acceptances are duplicates. A contact counts once per such request.
 */
export type PossiblySentTwice = Readonly<Record<LaneName, number>>;

/**
 * Counts contacts right before they are sent again, so that a worker that dies in between leaves no
 * duplicate uncounted. Negative where the service provably accepted nothing of the request.
 *
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function countPossiblySentTwice(
  redis: RedisClient,
  keys: Keys,
  lane: LaneName,
  contacts: number,
): Promise<void> {
  try {
    await redis.hincrby(keys.possiblySentTwice, lane, contacts);
  } catch (error) {
    throw redisFailure(error);
  }
}

/** Reads the counts since the account exists. */
export async function readPossiblySentTwice(
  redis: RedisClient,
  keys: Keys,
): Promise<PossiblySentTwice> {
  const counts = await redis.hmget(keys.possiblySentTwice, ...LANES);
  const [notices, chunks] = counts.map((count) => Math.max(0, Number(count ?? 0)));
  return { notices: notices ?? 0, chunks: chunks ?? 0 };
}

import type { RedisClient } from '../../../redis/connect.ts';
import { redisFailure } from '../../../redis/failure.ts';
import type { Keys } from '../../../redis/keys.ts';

/** Resolution of the last use, in milliseconds. */
const MINUTE_MS = 60_000;

/**
 * Records when API keys were used last, to the minute: one write per key and minute, whatever the number of
 * requests.
 */
export class KeyUses {
  readonly #redis: RedisClient;
  readonly #keys: Pick<Keys, 'keyUses'>;
  readonly #written = new Map<string, number>();

  constructor(redis: RedisClient, keys: Pick<Keys, 'keyUses'>) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /**
   * Notes a use, without waiting for Redis. While Redis is away uses are not recorded.
   *
   * @param id of the key
   * @param now milliseconds since the epoch
   */
  note(id: string, now: number): void {
    const minute = Math.floor(now / MINUTE_MS) * MINUTE_MS;
    if (this.#written.get(id) === minute) return;
    this.#written.set(id, minute);
    this.#redis.hset(this.#keys.keyUses, id, minute).catch(() => {});
  }
}

/**
 * When API keys were used last: milliseconds since the epoch, to the minute, by their ids.
 *
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function readKeyUses(
  redis: RedisClient,
  keys: Pick<Keys, 'keyUses'>,
): Promise<ReadonlyMap<string, number>> {
  try {
    const kept = await redis.hgetall(keys.keyUses);
    return new Map(Object.entries(kept).map(([id, at]) => [id, Number(at)]));
  } catch (error) {
    throw redisFailure(error);
  }
}

import { hashKey } from '../../notices/notice-ref.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { redisFailure } from '../../redis/failure.ts';
import type { Keys } from '../../redis/keys.ts';

/**
 * Idempotency keys that were stored before the keys of API keys had scopes. A sender that repeats a call across the
 * update must not queue its notice a second time, so these are still asked for one window.
 */
export class OlderKeys {
  readonly #redis: RedisClient;
  readonly #keys: Pick<Keys, 'scopedSince' | 'noticeJob'>;
  readonly #windowMs: number;
  #since: number | undefined;

  /** @param windowMs IDEMPOTENCY_WINDOW_MS */
  constructor(redis: RedisClient, keys: Pick<Keys, 'scopedSince' | 'noticeJob'>, windowMs: number) {
    this.#redis = redis;
    this.#keys = keys;
    this.#windowMs = windowMs;
  }

  /**
   * Whether a notice that was queued before scopes began has the key. Scopes begin with the first key that is asked
   * for, which is recorded once for all servers. One command for the first window, then none.
   *
   * A key is kept for the window after its notice is due, so one that ends earlier than a window after the
   * beginning is older. A delayed notice's may not be recognized.
   *
   * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
   */
  async has(key: string, now: number): Promise<boolean> {
    try {
      this.#since ??= await this.#begin(now);
      const end = this.#since + this.#windowMs;
      if (now >= end) return false;
      const restMs = await this.#redis.pttl(this.#keys.noticeJob(`de:${hashKey(key)}`));
      return restMs > 0 && now + restMs < end;
    } catch (error) {
      throw redisFailure(error);
    }
  }

  async #begin(now: number): Promise<number> {
    await this.#redis.set(this.#keys.scopedSince, String(now), 'NX');
    return Number(await this.#redis.get(this.#keys.scopedSince));
  }
}

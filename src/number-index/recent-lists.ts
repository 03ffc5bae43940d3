import { createHash } from 'node:crypto';
import type { RedisClient } from '../redis/connect.ts';
import { translated } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import { encodePrints } from './number-prints.ts';

/** Bytes that are written or read at a time, so that Redis is not busy for long. */
const PIECE_BYTES = 64 * 1024;

export interface RecentList {
  readonly batch: string;
  /** When it started, milliseconds since the epoch. */
  readonly at: number;
}

/**
 * The numbers of recent lists, by template, as prints that expire after REPEAT_WINDOW. All methods throw NoticeQueueError
 * QUEUE_UNAVAILABLE or QUEUE_REFUSED when Redis fails.
 */
export class RecentLists {
  readonly #redis: RedisClient;
  readonly #keys: Keys;
  readonly #windowMs: number;

  constructor(redis: RedisClient, keys: Keys, windowMs: number) {
    this.#redis = redis;
    this.#keys = keys;
    this.#windowMs = windowMs;
  }

  /** Lists of the template, the newest first. */
  async of(template: string): Promise<RecentList[]> {
    const since = Date.now() - this.#windowMs;
    const key = this.#ofTemplate(template);
    const found = await translated(this.#redis.zrevrangebyscore(key, '+inf', since, 'WITHSCORES'));
    return found.flatMap((batch, index) =>
      index % 2 === 0 ? [{ batch, at: Number(found[index + 1]) }] : [],
    );
  }

  /** The stored prints of a list, in pieces; none if they have expired. */
  async *printsOf(batch: string): AsyncGenerator<Uint32Array, void> {
    const key = this.#keys.batchNumbers(batch);
    for (let piece = 0; ; piece++) {
      const bytes = await translated(this.#redis.hgetBuffer(key, String(piece)));
      // All are read, or not all are there: its import has just started, or its time is over.
      if (bytes === null) return;
      yield new Uint32Array(Uint8Array.from(bytes.subarray(0, bytes.length & ~3)).buffer);
    }
  }

  /** Stores the prints of a list. Safe to repeat. */
  async add(template: string, { batch, at }: RecentList, sorted: Float64Array): Promise<void> {
    const key = this.#keys.batchNumbers(batch);
    const windowMs = this.#windowMs;
    let field = 0;
    for (const piece of encodePrints(sorted, PIECE_BYTES)) {
      await translated(this.#redis.hset(key, String(field++), piece));
      await translated(this.#redis.pexpire(key, windowMs));
    }
    const lists = this.#ofTemplate(template);
    await translated(this.#redis.zadd(lists, at, batch));
    await translated(this.#redis.zremrangebyscore(lists, '-inf', Date.now() - windowMs));
    await translated(this.#redis.pexpire(lists, windowMs));
  }

  #ofTemplate(template: string): string {
    return this.#keys.recentLists(createHash('sha256').update(template).digest('base64url'));
  }
}

import * as z from 'zod';
import type { RedisClient } from '../../redis/connect.ts';
import type { Keys } from '../../redis/keys.ts';
import type { TroubleHistory } from './trouble.ts';

const HISTORY = z.object({
  count: z.number(),
  contradicted: z.number(),
  at: z.number(),
  tokenId: z.string().optional(),
});

/** All histories go a day after the last one was written; a lost one counts as none. In milliseconds. */
const KEPT_MS = 86_400_000;

/** What jobs met that have not ended, one field for each. */
export class TroubleRecord {
  readonly #redis: RedisClient;
  readonly #key: string;

  constructor(redis: RedisClient, { troubles }: Pick<Keys, 'troubles'>) {
    this.#redis = redis;
    this.#key = troubles;
  }

  async read(job: string): Promise<TroubleHistory | undefined> {
    const text = await this.#redis.hget(this.#key, job);
    if (text === null) return undefined;
    try {
      return HISTORY.safeParse(JSON.parse(text)).data;
    } catch {
      return undefined;
    }
  }

  async write(job: string, history: TroubleHistory): Promise<void> {
    await Promise.all([
      this.#redis.hset(this.#key, job, JSON.stringify(history)),
      this.#redis.pexpire(this.#key, KEPT_MS),
    ]);
  }

  async forget(job: string): Promise<void> {
    await this.#redis.hdel(this.#key, job);
  }
}

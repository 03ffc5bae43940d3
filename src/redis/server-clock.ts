import type { RedisClient } from './connect.ts';

/** Reads Redis time: milliseconds since the epoch, with microseconds as the fraction. */
export async function redisTime(redis: Pick<RedisClient, 'time'>): Promise<number> {
  const [seconds, microseconds] = await redis.time();
  return Number(seconds) * 1_000 + Number(microseconds) / 1_000;
}

/**
 * The clock of Redis without a round trip: read at intervals, and advanced by the monotonic clock in
 * between, so that a wrong or changed wall clock does not matter. Use it for times that the whole fleet
 * must agree on.
 *
 * Exact to half a round trip, which is at most 250 ms except where Redis has never answered sooner.
 * Before the first reading it is the wall clock.
 */
export class ServerClock {
  readonly #redis: Pick<RedisClient, 'time'>;
  /** Redis time when the monotonic clock was 0. */
  #origin: number | undefined;
  /** The round trip of the reading that is in use. */
  #tookMs = Infinity;

  constructor(redis: Pick<RedisClient, 'time'>) {
    this.#redis = redis;
  }

  now(): number {
    return this.#origin === undefined ? Date.now() : this.#origin + performance.now();
  }

  /** How far the wall clock of this process is ahead; negative where it is behind. */
  get aheadMs(): number {
    return Math.round(Date.now() - this.now());
  }

  /**
   * Reads the clock of Redis. A slow answer is too inexact: it is used only until there is a better one, for
   * which Redis is asked again at once.
   */
  async read(): Promise<void> {
    for (let tries = 0; tries < TRIES; tries++) {
      const tookMs = await this.#readOnce();
      if (tookMs <= LONG_MS || this.#tookMs <= LONG_MS) return;
    }
  }

  async #readOnce(): Promise<number> {
    const askedAt = performance.now();
    const then = await redisTime(this.#redis);
    const answeredAt = performance.now();
    const tookMs = answeredAt - askedAt;
    if (tookMs <= LONG_MS || tookMs < this.#tookMs) {
      this.#origin = then - (askedAt + answeredAt) / 2;
      this.#tookMs = tookMs;
    }
    return tookMs;
  }
}

/** A reading that took longer is less exact than an earlier one. */
const LONG_MS = 500;

/** How often Redis is asked while every answer is slow: a process that starts is busy. */
const TRIES = 3;

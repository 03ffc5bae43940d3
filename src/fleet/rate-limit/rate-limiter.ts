import type { CancelSignal } from '../../contracts/token.ts';
import type { LaneName } from '../../contracts/outcome.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { hintChannel, type Hints } from '../../redis/hints.ts';
import type { Keys } from '../../redis/keys.ts';
import {
  decreaseRateLimit,
  setRateLimit,
  takePermits,
  type DecreaseAnswer,
  type Permits,
} from './rate-limit-scripts.ts';
import { SendRate, PermitQueue, type Permit } from './permit-queue.ts';

/** The rate limit of the account, and how it changes after a 429. */
export interface RateLimitSettings {
  /** RATE_LIMIT: send requests per second of the whole account; 0 is no limit. */
  readonly limit: number;
  /** Send requests per second that no decrease goes below. */
  readonly floor: number;
  /** Percentage by which a decrease lowers the limit. */
  readonly fallPercent: number;
  /** How long a rise from zero to the configured limit would take, in milliseconds. */
  readonly recoveryMs: number;
}

/** The rate limit as one lane of a process uses it. */
export interface LaneRateLimit {
  /**
   * Takes a permit for one request; waits about a second at most, and not at all where there is no limit.
   *
   * @returns undefined when there was none in time, the queue is held or the caller cancels: requeue
   *   the job
   */
  take(cancel: CancelSignal): Permit | Promise<Permit | undefined>;
}

/** How long ahead permits are fetched, by the requests of the last second. */
const AHEAD_MS = 100;

/** How long to wait after Redis failed. */
const ASK_AGAIN_MS = 200;

/**
 * The rate limiter of one process. It is in one of two states:
 *
 * - unlimited: there is no limit. A send costs nothing but a counter.
 * - limited: each request takes a permit. Permits are fetched from Redis for all waiters, and some more
 *   for the requests of the next moment, by the number of recent ones.
 *
 * A process starts as limited, and asks Redis. limited -> unlimited: the answer of Redis.
 * unlimited -> limited: a hint arrived (the limit was set manually or decreased), hints may have been
 * lost, or this process was answered 429. A hint that arrives while Redis is asked invalidates its answer.
 *
 * After a change of the limit, permits that were issued before are still used, for about a second.
 */
export class RateLimiter {
  readonly #redis: RedisClient;
  readonly #hints: Pick<Hints, 'subscribe'>;
  readonly #channel: string;
  readonly #keys: Keys;
  readonly #settings: RateLimitSettings;
  readonly #events: RateLimiterEvents;
  readonly #rate = new SendRate();
  readonly #queue: PermitQueue;
  #unlimited = false;
  /** Hints so far, and 429s of this process: an answer of Redis from before one is outdated. */
  #changes = 0;
  #asking = false;
  #retry: NodeJS.Timeout | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(
    redis: RedisClient,
    hints: Pick<Hints, 'subscribe'>,
    keys: Keys,
    settings: RateLimitSettings,
    events: RateLimiterEvents,
  ) {
    this.#redis = redis;
    this.#hints = hints;
    this.#channel = hintChannel(redis, keys.rateLimitHints);
    this.#keys = keys;
    this.#settings = settings;
    this.#events = events;
    this.#queue = new PermitQueue(
      () => this.#fetch(),
      () => this.#rate.count(performance.now()),
    );
  }

  /** Subscribes to hints. */
  start(): void {
    this.#unsubscribe ??= this.#hints.subscribe(this.#channel, () => this.#invalidate());
  }

  /** Rejects all waiters: a hold was placed after they had passed its gate. */
  rejectAll(): void {
    this.#queue.rejectAll();
  }

  /** Unsubscribes and rejects all waiters. */
  stop(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    clearTimeout(this.#retry);
    this.#queue.rejectAll();
  }

  /** The rate limit for one lane; the lanes share the permits of the process. */
  lane(name: LaneName): LaneRateLimit {
    return {
      take: (cancel) =>
        this.#unlimited ? this.#queue.permit(Infinity) : this.#queue.join(name, cancel),
    };
  }

  /**
   * Decreases the rate limit: the service answered 429, and the hold for it was placed.
   *
   * @throws ScriptFailure
   */
  async throttled(): Promise<void> {
    const { limit, floor, recoveryMs, fallPercent } = this.#settings;
    const { rateLimit, hold, workers } = this.#keys;
    const left = 1 - fallPercent / 100;
    const sent = this.#rate.perSecond(performance.now()).toFixed(3);
    this.#invalidate();
    const { decreased, ...decrease } = await decreaseRateLimit(
      this.#redis,
      [rateLimit, hold, workers],
      [limit, floor, left, recoveryMs, sent, this.#channel],
    );
    if (decreased) this.#events.onDecrease(decrease);
  }

  #invalidate(): void {
    this.#unlimited = false;
    this.#changes += 1;
  }

  #fetch(): void {
    if (this.#asking || this.#retry !== undefined) return;
    this.#asking = true;
    const changes = this.#changes;
    const { rateLimit, limiter, chunkLimiter } = this.#keys;
    const ahead = (this.#rate.lastSecond(performance.now()) * AHEAD_MS) / 1_000;
    const args = [this.#settings.limit, this.#queue.waiting + Math.ceil(ahead)];
    takePermits(this.#redis, [rateLimit, limiter, chunkLimiter], args).then(
      (permits) => {
        this.#asking = false;
        this.#receive(permits, changes === this.#changes);
      },
      (error: unknown) => {
        this.#asking = false;
        this.#events.onError(error);
        this.#fetchLater();
      },
    );
  }

  #receive(permits: Permits, upToDate: boolean): void {
    switch (permits.kind) {
      case 'unlimited':
        this.#unlimited = upToDate;
        if (upToDate) this.#queue.admitAll();
        else if (this.#queue.waiting > 0) this.#fetch();
        break;
      case 'none':
        this.#queue.rejectAll();
        break;
      case 'permits':
        this.#queue.add(permits);
        break;
    }
  }

  #fetchLater(): void {
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      if (this.#queue.waiting > 0) this.#fetch();
    }, ASK_AGAIN_MS);
  }
}

/** What the rate limiter reports, for the log. */
export interface RateLimiterEvents {
  /** The limit was decreased. Rates are requests per second. */
  readonly onDecrease: (decrease: Omit<DecreaseAnswer, 'decreased'>) => void;
  /** Redis failed. Nothing is sent without a permit. */
  readonly onError: (error: unknown) => void;
}

/**
 * Sets the rate limit manually: it replaces the configured limit and any decrease, until it is set again.
 *
 * @param limit requests per second; 0 for no limit, undefined to return to the configured limit
 * @throws ScriptFailure
 */
export async function setManualRateLimit(
  redis: RedisClient,
  keys: Keys,
  limit: number | undefined,
): Promise<void> {
  await setRateLimit(
    redis,
    [keys.rateLimit],
    [limit ?? '', hintChannel(redis, keys.rateLimitHints)],
  );
}

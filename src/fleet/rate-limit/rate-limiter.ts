import type { WorkerConfig } from '../../config/config.ts';
import type { LaneName } from '../../contracts/outcome.ts';
import type { CancelSignal } from '../../contracts/token.ts';
import type { RedisClient } from '../../redis/connect.ts';
import { hintChannel, type Hints } from '../../redis/hints.ts';
import type { Keys } from '../../redis/keys.ts';
import { decreaseRateLimit, REACH_MS, takePermits, type Permits } from './rate-limit-state.ts';

export interface RateLimiterEvents {
  /** The limit was decreased. Rates are requests per second. */
  readonly onDecrease: (decrease: { readonly from: number; readonly to: number }) => void;
  /** Redis failed. Nothing is sent without a permit. */
  readonly onError: (error: unknown) => void;
}

export interface Permit {
  /** Uses the permit; false when it was used before or has expired: take another one. */
  use(): boolean;
  /** Returns the unused permit to the queue, for the next waiter; does nothing after `use`. */
  release(): void;
}

/**
 * How long a permit is valid, in milliseconds. With a longer time a process could save permits and use
 * them all at once; with a shorter one a process that was busy for a moment would waste its permits.
 */
export const PERMIT_LASTS_MS = 200;

/** A permit that was asked for is due within REACH_MS of the answer. */
const WAIT_MS = 1.5 * REACH_MS;

/** How long ahead permits are fetched, by the rate of sends. */
const AHEAD_MS = 100;

const ASK_AGAIN_MS = 200;

interface Waiter {
  readonly lane: LaneName;
  readonly deadline: number;
  readonly settle: (until: number | undefined) => void;
}

/**
 * The rate limiter of one process, in one of two states:
 *
 * - unlimited: there is no limit. A send costs nothing but a counter.
 * - limited: each request takes a permit. Permits are fetched from Redis for all waiters, and some more
 *   for the requests of the next moment. Each goes to one waiter when its time has come. The lanes take
 *   turns, so that no single notice waits for the chunks of a list.
 *
 * A process starts as limited, and asks Redis. limited -> unlimited: the answer of Redis.
 * unlimited -> limited: a hint arrived (the limit was set manually or decreased), hints may have been
 * lost, or this process was answered 429. A hint that arrives while Redis is asked invalidates its answer.
 */
export class RateLimiter {
  readonly #redis: RedisClient;
  readonly #hints: Pick<Hints, 'subscribe'>;
  readonly #channel: string;
  readonly #keys: Keys;
  readonly #settings: WorkerConfig['rateLimit'];
  readonly #events: RateLimiterEvents;
  readonly #rate = new SendRate();
  /** In the order in which they came, which is that of their deadlines. */
  readonly #waiters: Waiter[] = [];
  #turn: LaneName = 'notices';
  /** Start times of the permits of this process, ascending. */
  #permits: number[] = [];
  #timer: NodeJS.Timeout | undefined;
  #unlimited = false;
  /** Hints so far, and 429s of this process: an answer of Redis from before one is outdated. */
  #changes = 0;
  /** Redis is asked, or has failed a moment ago. */
  #asking = false;
  #unsubscribe: (() => void) | undefined;

  constructor(
    redis: RedisClient,
    hints: Pick<Hints, 'subscribe'>,
    keys: Keys,
    settings: WorkerConfig['rateLimit'],
    events: RateLimiterEvents,
  ) {
    this.#redis = redis;
    this.#hints = hints;
    this.#channel = hintChannel(redis, keys.rateLimitHints);
    this.#keys = keys;
    this.#settings = settings;
    this.#events = events;
  }

  start(): void {
    this.#unsubscribe ??= this.#hints.subscribe(this.#channel, () => this.#invalidate());
  }

  stop(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    this.rejectAll();
  }

  /** Rejects all waiters: a hold was placed after they had passed its gate. */
  rejectAll(): void {
    this.#settleAll(undefined);
  }

  /**
   * Takes a permit for one request; waits about a second at most, and not at all where there is no limit.
   * @returns undefined when there was none in time, the queue is held or the caller cancels: requeue the job
   */
  take(cancel: CancelSignal, lane: LaneName): Permit | Promise<Permit | undefined> {
    if (this.#unlimited) return this.#permit(Infinity);
    if (cancel.aborted) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const leave = () => {
        const index = this.#waiters.indexOf(waiter);
        if (index !== -1) this.#waiters.splice(index, 1);
        waiter.settle(undefined);
      };
      const waiter: Waiter = {
        lane,
        deadline: performance.now() + WAIT_MS,
        settle: (until) => {
          cancel.removeEventListener('abort', leave);
          resolve(until === undefined ? undefined : this.#permit(until));
        },
      };
      cancel.addEventListener('abort', leave);
      this.#waiters.push(waiter);
      this.#assign();
    });
  }

  /** Decreases the rate limit: the service answered 429. */
  async throttled(): Promise<void> {
    const { limit, floor, recoveryMs, fallPercent } = this.#settings;
    const { rateLimit, hold, workers } = this.#keys;
    const sent = this.#rate.perSecond(performance.now()).toFixed(3);
    this.#invalidate();
    const decrease = await decreaseRateLimit(
      this.#redis,
      [rateLimit, hold, workers],
      [limit, floor, 1 - fallPercent / 100, recoveryMs, sent, this.#channel],
    );
    if (decrease !== undefined) this.#events.onDecrease(decrease);
  }

  #invalidate(): void {
    this.#unlimited = false;
    this.#changes += 1;
  }

  /** A permit that is valid from now until a time of the monotonic clock; without a limit for ever. */
  #permit(until: number): Permit {
    let left = true;
    return {
      use: () => {
        if (!left || performance.now() > until) return false;
        left = false;
        this.#rate.count(performance.now());
        return true;
      },
      release: () => {
        if (!left) return;
        left = false;
        if (until === Infinity) return;
        this.#permits.unshift(until - PERMIT_LASTS_MS);
        this.#assign();
      },
    };
  }

  #settleAll(until: number | undefined): void {
    clearTimeout(this.#timer);
    for (const { settle } of this.#waiters.splice(0)) settle(until);
  }

  #assign(): void {
    clearTimeout(this.#timer);
    const now = performance.now();
    this.#permits = this.#permits.filter((at) => at + PERMIT_LASTS_MS > now);
    while (this.#waiters.length > 0 && (this.#permits[0] ?? Infinity) <= now) {
      this.#next()?.settle((this.#permits.shift() ?? now) + PERMIT_LASTS_MS);
    }
    while ((this.#waiters[0]?.deadline ?? Infinity) <= now)
      this.#waiters.shift()?.settle(undefined);
    const [next] = this.#waiters;
    if (next === undefined) return;
    const dueAt = Math.min(this.#permits[0] ?? Infinity, next.deadline);
    // A timer of Node may fire a little early; then this runs again.
    this.#timer = setTimeout(() => this.#assign(), Math.max(1, Math.ceil(dueAt - now)));
    if (this.#permits.length === 0) this.#fetch();
  }

  /** Removes the first waiter of the lane whose turn it is, else the first of the other. */
  #next(): Waiter | undefined {
    const first = this.#waiters.findIndex(({ lane }) => lane === this.#turn);
    const [waiter] = this.#waiters.splice(Math.max(0, first), 1);
    this.#turn = waiter?.lane === 'notices' ? 'chunks' : 'notices';
    return waiter;
  }

  #fetch(): void {
    if (this.#asking) return;
    this.#asking = true;
    const changes = this.#changes;
    const { rateLimit, limiter, chunkLimiter } = this.#keys;
    const ahead = Math.ceil((this.#rate.lastSecond(performance.now()) * AHEAD_MS) / 1_000);
    const args = [this.#settings.limit, this.#waiters.length + ahead];
    takePermits(this.#redis, [rateLimit, limiter, chunkLimiter], args).then(
      (permits) => {
        this.#asking = false;
        this.#receive(permits, changes === this.#changes);
      },
      (error: unknown) => {
        this.#events.onError(error);
        setTimeout(() => {
          this.#asking = false;
          this.#assign();
        }, ASK_AGAIN_MS).unref();
      },
    );
  }

  #receive(permits: Permits, upToDate: boolean): void {
    if (permits.kind === 'permits') {
      const first = performance.now() + permits.firstInMs;
      for (let index = 0; index < permits.count; index++) {
        this.#permits.push(first + index * permits.gapMs);
      }
    }
    if (permits.kind === 'none') this.rejectAll();
    if (permits.kind === 'unlimited' && upToDate) {
      this.#unlimited = true;
      this.#settleAll(Infinity);
    }
    this.#assign();
  }
}

const SECOND_MS = 1_000;

/** The recent send rate of this process. Times are those of a monotonic clock, in milliseconds. */
class SendRate {
  #first = Infinity;
  #second = 0;
  #sent = 0;
  #before = 0;

  count(at: number): void {
    this.#first = Math.min(this.#first, at);
    this.#roll(at);
    this.#sent++;
  }

  /**
   * Sends per second; 0 in the first second of the process: the jobs that wait for it all start at once. Later a burst
   * after an idle time is a rate: as many requests as the service refused in a second.
   */
  perSecond(at: number): number {
    return at - this.#first < SECOND_MS ? 0 : this.lastSecond(at);
  }

  /** How many there were in this second or in the one before, whichever is more. */
  lastSecond(at: number): number {
    this.#roll(at);
    return Math.max(this.#sent, this.#before);
  }

  #roll(at: number): void {
    const second = Math.floor(at / SECOND_MS);
    if (second === this.#second) return;
    this.#before = second === this.#second + 1 ? this.#sent : 0;
    this.#second = second;
    this.#sent = 0;
  }
}

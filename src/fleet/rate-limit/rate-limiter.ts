import { randomBytes } from 'node:crypto';
import type { CancelSignal } from '../../contracts/cancel-signal.ts';
import type { RedisClient } from '../../redis/connect.ts';
import type { Hints } from '../../redis/hints.ts';
import type { Keys } from '../../redis/keys.ts';
import {
  decreaseRateLimit,
  setRateLimit,
  takePermits,
  reportRate,
  type Permits,
} from './rate-limit-scripts.ts';
import { SendRate } from './send-rate.ts';
import { PermitQueue, type LaneName, type Permit } from './permit-queue.ts';

/** How fast the account may send, and what becomes of that after a 429. */
export interface RateLimitSettings {
  /** Send calls a second for the whole account; 0 is no limit of ours. */
  readonly limit: number;
  /** No fall goes below it, in send calls a second. */
  readonly floor: number;
  /** By how much of itself the pace falls, in percent. */
  readonly fallPercent: number;
  /** A rise from nothing to the pace that was set takes so long, in milliseconds. */
  readonly recoveryMs: number;
}

/** The pace as one lane of a process meets it. */
export interface LaneRateLimit {
  /**
   * Takes a slot for one request, about a second's wait at most.
   *
   * @returns undefined when there was none in time, the queue is held or the caller gives up: the job
   *   goes back
   */
  take(cancel: CancelSignal): Promise<Permit | undefined>;
  /**
   * The service has asked for a slower pace (429), and the hold for it was placed.
   *
   * @throws ScriptFailure
   */
  throttled(): Promise<void>;
}

/**
 * The pace of one process. It believes one of two things:
 *
 * - free: nothing limits. A send costs nothing but a counter.
 * - paced: each request takes a slot. Slots are fetched from Redis for all who wait, and a few more
 *   for those who come in the next moment, by how many came lately.
 *
 * A process begins as paced, and asks. paced -> free: Redis said so. free -> paced: a hint came (the
 * pace was set by hand, or has fallen), hints may have been lost, or this process met a 429. A hint
 * that comes while it asks outdates the answer.
 *
 * What a changed pace has handed out before is used up, which takes a second.
 */
export class RateLimiter {
  readonly #redis: RedisClient;
  readonly #hints: Pick<Hints, 'subscribe'>;
  readonly #keys: Keys;
  readonly #settings: RateLimitSettings;
  readonly #events: RateLimiterEvents;
  readonly #id = randomBytes(9).toString('base64url');
  readonly #rate = new SendRate();
  readonly #line: PermitQueue;
  #free = false;
  #heard = 0;
  #asking = false;
  #again: NodeJS.Timeout | undefined;
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
    this.#keys = keys;
    this.#settings = settings;
    this.#events = events;
    this.#line = new PermitQueue(
      () => this.#ask(),
      () => this.#rate.count(performance.now()),
    );
  }

  /** Begins to listen. */
  start(): void {
    this.#unsubscribe ??= this.#hints.subscribe(this.#keys.rateLimitHints, (text) =>
      this.#hear(text),
    );
  }

  /** Turns away who waits: a hold has begun, and they have passed its gate before. */
  turnAway(): void {
    this.#line.turnAway();
  }

  /** Turns away who still waits. */
  stop(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
    clearTimeout(this.#again);
    this.#line.turnAway();
  }

  lane(name: LaneName): LaneRateLimit {
    return {
      take: (cancel) =>
        this.#free ? Promise.resolve(this.#line.slot(Infinity)) : this.#line.join(name, cancel),
      throttled: () => this.#throttled(),
    };
  }

  async #throttled(): Promise<void> {
    const { limit: pace, floor, recoveryMs } = this.#settings;
    const sent = this.#rate.perSecond(performance.now()).toFixed(3);
    this.#outdate();
    const { fell, ...fall } = await decreaseRateLimit(
      this.#redis,
      [this.#keys.rateLimit, this.#keys.hold],
      [pace, floor, this.#left(), recoveryMs, sent, this.#id, this.#keys.rateLimitHints],
    );
    if (fell) this.#events.onFall(fall);
  }

  /** What is left of the pace after a fall. */
  #left(): number {
    return 1 - this.#settings.fallPercent / 100;
  }

  #outdate(): void {
    this.#free = false;
    this.#heard += 1;
  }

  #hear(text: string | undefined): void {
    this.#outdate();
    const [, fall, from] = /^observed (\S+) (\S+)$/.exec(text ?? '') ?? [];
    if (fall === undefined || from === this.#id) return;
    const rate = this.#rate.perSecond(performance.now());
    if (rate === 0) return;
    const args = [
      fall,
      this.#settings.floor,
      this.#left(),
      rate.toFixed(3),
      this.#keys.rateLimitHints,
    ];
    reportRate(this.#redis, [this.#keys.rateLimit], args).catch(this.#events.onTrouble);
  }

  #ask(): void {
    if (this.#asking || this.#again !== undefined) return;
    this.#asking = true;
    const heard = this.#heard;
    const { rateLimit: pace, limiter, chunkLimiter } = this.#keys;
    const ahead = (this.#rate.lastSecond(performance.now()) * AHEAD_MS) / 1_000;
    const args = [this.#settings.limit, this.#line.waiting + Math.ceil(ahead)];
    takePermits(this.#redis, [pace, limiter, chunkLimiter], args).then(
      (slots) => {
        this.#asking = false;
        this.#take(slots, heard === this.#heard);
      },
      (error: unknown) => {
        this.#asking = false;
        this.#events.onTrouble(error);
        this.#askLater();
      },
    );
  }

  #take(slots: Permits, fresh: boolean): void {
    switch (slots.kind) {
      case 'free':
        this.#free = fresh;
        if (fresh) this.#line.letAllGo();
        else if (this.#line.waiting > 0) this.#ask();
        break;
      case 'far':
        this.#line.turnAway();
        break;
      case 'slots':
        this.#line.stock(slots);
        break;
    }
  }

  #askLater(): void {
    this.#again = setTimeout(() => {
      this.#again = undefined;
      if (this.#line.waiting > 0) this.#ask();
    }, ASK_AGAIN_MS);
  }
}

/** What a process tells of its pace, for the log. */
export interface RateLimiterEvents {
  /**
   * Send calls a second. Where no pace was in force they are observed: of this process only, and
   * others add theirs.
   */
  readonly onFall: (fall: {
    readonly from: number;
    readonly to: number;
    readonly observed: boolean;
  }) => void;
  /** Redis failed. Nothing is sent without a slot. */
  readonly onTrouble: (error: unknown) => void;
}

/** Slots are fetched ahead for so long, by the sends of the last second. */
const AHEAD_MS = 100;

const ASK_AGAIN_MS = 200;

/**
 * Sets the pace by hand, over the configuration and over what has fallen, until it is set again.
 *
 * @param pace send calls a second; 0 for no limit, undefined to go by the configuration again
 * @throws ScriptFailure
 */
export async function setManualRateLimit(
  redis: RedisClient,
  keys: Keys,
  pace: number | undefined,
): Promise<void> {
  await setRateLimit(redis, [keys.rateLimit], [pace ?? '', keys.rateLimitHints]);
}

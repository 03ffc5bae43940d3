import { readMotion } from '../../../batch/ledger/batch-motion.ts';
import { surroundingsOf } from '../../../batch/ledger/blocked-reason.ts';
import type { Ledger } from '../../../batch/ledger/ledger.ts';
import type { Status } from '../../status.ts';
import { batchToJson } from '../../answers/batch-json.ts';
import type { BatchAnswer } from '../../answers/batch-schemas.ts';
import { statusToJson, type StatusAnswer } from '../answers.ts';
import { TooManyRequests } from '../http/problem.ts';
import type { RedisTrouble, RedisErrorMonitor } from '../http/redis-error-monitor.ts';

/** Which events a listener gets beside the status. */
export interface FeedFilter {
  /** Id of the batch whose `batch` events are sent. Default: none. */
  readonly batch?: string | undefined;
}

/** An event of the feed. */
export type FeedEvent =
  | { readonly event: 'status'; readonly data: StatusAnswer }
  | { readonly event: 'batch'; readonly data: BatchAnswer }
  /** Redis is away; the feed keeps polling. */
  | { readonly event: 'trouble'; readonly data: RedisTrouble };

/** A listener of the feed. */
export interface Listener extends FeedFilter {
  /** Name of the caller. */
  readonly who: string;
  /** @returns false to be removed */
  readonly send: (event: FeedEvent) => boolean;
  /** Called when no more events will follow. */
  readonly end: () => void;
}

/** What the feed reads from. */
interface FeedSources {
  readonly status: () => Promise<Status>;
  readonly ledger: Pick<Ledger, 'read' | 'nextAttempt'>;
  readonly redisWatch: RedisErrorMonitor;
}

const MAX_LISTENERS = 200;
/** Each watched batch costs one command per second, whatever the number of listeners. */
const MAX_BATCHES = 20;
/** Of one caller, so that one cannot use up the places of all. */
const MAX_LISTENERS_OF_CALLER = 20;
const MAX_BATCHES_OF_CALLER = 5;
const EVERY_MS = 1_000;

/**
 * Sends the state of the account to all listeners once a second. One poll serves all of them, so the
 * load on Redis does not grow with their number. It polls only while there are listeners; the next poll
 * starts a second after the previous one ended, so that a slow Redis is polled less often.
 */
export class LiveFeed {
  readonly #sources: FeedSources;
  readonly #listeners = new Set<Listener>();
  #timer: NodeJS.Timeout | undefined;
  #polling: Promise<void> | undefined;
  #closed = false;

  constructor(sources: FeedSources) {
    this.#sources = sources;
  }

  /**
   * @returns a function that removes the listener
   * @throws TooManyRequests
   */
  listen(listener: Listener): () => void {
    if (this.#closed || this.#listeners.size >= MAX_LISTENERS) {
      throw new TooManyRequests(5, `${MAX_LISTENERS} event streams are open already.`);
    }
    const own = [...this.#listeners].filter(({ who }) => who === listener.who);
    if (own.length >= MAX_LISTENERS_OF_CALLER) {
      throw new TooManyRequests(
        5,
        `You have ${MAX_LISTENERS_OF_CALLER} event streams open already.`,
      );
    }
    const ownBatches = new Set(own.flatMap(({ batch }) => batch ?? []));
    if (
      listener.batch !== undefined &&
      !ownBatches.has(listener.batch) &&
      ownBatches.size >= MAX_BATCHES_OF_CALLER
    ) {
      throw new TooManyRequests(5, `You watch ${MAX_BATCHES_OF_CALLER} batches already.`);
    }
    const batches = this.#batches();
    if (
      listener.batch !== undefined &&
      !batches.has(listener.batch) &&
      batches.size >= MAX_BATCHES
    ) {
      throw new TooManyRequests(5, `${MAX_BATCHES} batches are watched already.`);
    }
    this.#listeners.add(listener);
    if (this.#polling === undefined) {
      clearTimeout(this.#timer);
      this.#poll();
    }
    return () => this.#drop(listener);
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    for (const listener of this.#listeners) listener.end();
    this.#listeners.clear();
    await this.#polling;
  }

  #poll(): void {
    this.#polling = this.#read().finally(() => {
      this.#polling = undefined;
      if (this.#closed || this.#listeners.size === 0) return;
      this.#timer = setTimeout(() => this.#poll(), EVERY_MS);
    });
  }

  async #read(): Promise<void> {
    const { status, ledger, redisWatch } = this.#sources;
    try {
      const [current, ...batches] = await Promise.all([
        status(),
        ...[...this.#batches()].map((id) => ledger.read(id)),
      ]);
      redisWatch.recovered();
      this.#send({ event: 'status', data: statusToJson(current) });
      for (const batch of batches) {
        if (batch === undefined) continue;
        const { now } = current;
        const around = surroundingsOf(current, true);
        const motion = await readMotion(ledger, batch, around, now);
        this.#send({ event: 'batch', data: batchToJson(batch, Date.now(), motion) });
      }
    } catch (error) {
      redisWatch.failed(error, Date.now());
      const { trouble } = redisWatch;
      if (trouble !== undefined) this.#send({ event: 'trouble', data: trouble });
    }
  }

  #send(event: FeedEvent): void {
    for (const listener of this.#listeners) {
      if (event.event === 'batch' && listener.batch !== event.data.id) continue;
      if (!listener.send(event)) this.#drop(listener);
    }
  }

  #drop(listener: Listener): void {
    if (!this.#listeners.delete(listener)) return;
    listener.end();
    if (this.#listeners.size === 0) clearTimeout(this.#timer);
  }

  #batches(): Set<string> {
    const ids = [...this.#listeners].map(({ batch }) => batch);
    return new Set(ids.filter((id) => id !== undefined));
  }
}

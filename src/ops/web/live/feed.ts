import type { Status } from '../../status.ts';
import { TooManyRequests } from '../http/problem.ts';
import type { RedisTrouble, RedisErrorMonitor } from '../http/redis-error-monitor.ts';

/** An event of the feed. */
export type FeedEvent =
  | { readonly event: 'status'; readonly data: Status }
  /** Redis is away; the feed keeps polling. */
  | { readonly event: 'trouble'; readonly data: RedisTrouble };

/** A listener of the feed. */
export interface Listener {
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
  readonly redisWatch: RedisErrorMonitor;
}

const MAX_LISTENERS = 200;
/** Of one caller, so that one cannot use up the places of all. */
const MAX_LISTENERS_OF_CALLER = 20;
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
    const own = [...this.#listeners].filter(({ who }) => who === listener.who).length;
    if (this.#closed || this.#listeners.size >= MAX_LISTENERS || own >= MAX_LISTENERS_OF_CALLER) {
      const most = `${MAX_LISTENERS}, or ${MAX_LISTENERS_OF_CALLER} of you,`;
      throw new TooManyRequests(5, `Too many event streams are open already: ${most} at most.`);
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
    const { status, redisWatch } = this.#sources;
    try {
      this.#send({ event: 'status', data: await status() });
    } catch (error) {
      redisWatch.failed(error, Date.now());
      const { trouble } = redisWatch;
      if (trouble !== undefined) this.#send({ event: 'trouble', data: trouble });
    }
  }

  #send(event: FeedEvent): void {
    for (const listener of this.#listeners) if (!listener.send(event)) this.#drop(listener);
  }

  #drop(listener: Listener): void {
    if (!this.#listeners.delete(listener)) return;
    listener.end();
    if (this.#listeners.size === 0) clearTimeout(this.#timer);
  }
}

import { readBatchEvents, type BatchEvent } from '../../../batch/ledger/batch-events.ts';
import type { Ledger } from '../../../batch/ledger/ledger.ts';
import type { RedisClient } from '../../../redis/connect.ts';
import type { Keys } from '../../../redis/keys.ts';
import type { Status } from '../../status.ts';
import { batchToJson, statusToJson, type BatchAnswer, type StatusAnswer } from '../answers.ts';
import { TooManyRequests } from '../http/problem.ts';
import type { RedisTrouble, RedisErrorMonitor } from '../http/redis-error-monitor.ts';

/** What a listener wants to hear of, beside the status. */
export interface FeedFilter {
  /** Id of a batch. */
  readonly batch?: string | undefined;
}

/** What listeners are told. */
export type FeedEvent =
  | { readonly event: 'status'; readonly data: StatusAnswer }
  | { readonly event: 'batch'; readonly data: BatchAnswer }
  /** What became of any batch. */
  | { readonly event: 'batch-event'; readonly data: BatchEvent }
  /** Redis is away; the feed goes on trying. */
  | { readonly event: 'trouble'; readonly data: RedisTrouble };

/** One who listens. */
export interface Listener extends FeedFilter {
  /** @returns false where it takes no more: then it is dropped */
  readonly tell: (event: FeedEvent) => boolean;
  /** Told that nothing more will come. */
  readonly end: () => void;
}

/** Where the feed reads. */
interface FeedSources {
  readonly status: () => Promise<Status>;
  readonly ledger: Pick<Ledger, 'read'>;
  readonly redis: RedisClient;
  readonly keys: Keys;
  readonly redisWatch: RedisErrorMonitor;
}

const MAX_LISTENERS = 200;
/** Each costs one command a second, however many listen. */
const MAX_BATCHES = 20;
const EVERY_MS = 1_000;
/** More of them are told with the next poll. */
const EVENTS_PER_POLL = 200;

/**
 * What goes on, told once a second to everybody who listens. One poll serves them all: what Redis is
 * asked does not grow with their number.
 *
 * idle, while nobody listens: nothing is asked. polling, from the first listener to the last: the next
 * poll begins a second after the one before it has ended, so that a slow Redis is asked less.
 */
export class LiveFeed {
  readonly #sources: FeedSources;
  readonly #listeners = new Set<Listener>();
  #timer: NodeJS.Timeout | undefined;
  #polling: Promise<void> | undefined;
  /** Of the last event that was told; undefined while nobody listens, for who comes then starts anew. */
  #cursor: string | undefined;
  #closed = false;

  constructor(sources: FeedSources) {
    this.#sources = sources;
  }

  /**
   * @returns ends the listening
   * @throws TooManyRequests
   */
  listen(listener: Listener): () => void {
    if (this.#closed || this.#listeners.size >= MAX_LISTENERS) {
      throw new TooManyRequests(5, `More than ${MAX_LISTENERS} pages listen already.`);
    }
    const batches = this.#batches();
    if (
      listener.batch !== undefined &&
      !batches.has(listener.batch) &&
      batches.size >= MAX_BATCHES
    ) {
      throw new TooManyRequests(5, `More than ${MAX_BATCHES} batches are watched already.`);
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
    this.#polling = this.#look().finally(() => {
      this.#polling = undefined;
      if (this.#closed || this.#listeners.size === 0) {
        this.#cursor = undefined;
        return;
      }
      this.#timer = setTimeout(() => this.#poll(), EVERY_MS);
    });
  }

  async #look(): Promise<void> {
    const { status, ledger, redis, keys, redisWatch } = this.#sources;
    try {
      const [now, news, ...batches] = await Promise.all([
        status(),
        readBatchEvents(redis, keys, this.#cursor, EVENTS_PER_POLL),
        ...[...this.#batches()].map((id) => ledger.read(id)),
      ]);
      redisWatch.recovered();
      this.#cursor = news.cursor;
      this.#tell({ event: 'status', data: statusToJson(now) });
      for (const batch of batches) {
        if (batch === undefined) continue;
        this.#tell({ event: 'batch', data: batchToJson(batch, Date.now()) });
      }
      for (const event of news.events) this.#tell({ event: 'batch-event', data: event });
    } catch (error) {
      redisWatch.failed(error, Date.now());
      const { trouble } = redisWatch;
      if (trouble !== undefined) this.#tell({ event: 'trouble', data: trouble });
    }
  }

  #tell(event: FeedEvent): void {
    for (const listener of this.#listeners) {
      if (event.event === 'batch' && listener.batch !== event.data.id) continue;
      if (!listener.tell(event)) this.#drop(listener);
    }
  }

  #drop(listener: Listener): void {
    if (!this.#listeners.delete(listener)) return;
    listener.end();
    if (this.#listeners.size > 0) return;
    clearTimeout(this.#timer);
    this.#cursor = undefined;
  }

  #batches(): Set<string> {
    const ids = [...this.#listeners].map(({ batch }) => batch);
    return new Set(ids.filter((id) => id !== undefined));
  }
}

import type { RedisClient } from './connect.ts';

/** Gets the text of a hint; gets `undefined` after a gap in which hints may have been lost. */
export type HintListener = (text: string | undefined) => void;

/**
 * The channel of hints about the keys of one database: keys of another one have the same names, and channels belong to
 * the whole server.
 */
export function hintChannel(redis: RedisClient, name: string): string {
  return `${name}:${'nodes' in redis ? 0 : (redis.options.db ?? 0)}`;
}

/**
 * How often the connection is checked, in milliseconds. One that has died without a sign is reopened after two to
 * three of these, and costs one command in each: it only listens, so nothing else would ever notice.
 */
export const HINTS_CHECK_MS = 2_000;

/**
 * Hints over Redis publish/subscribe, on one connection per process: other processes read a changed key
 * at once instead of at their next poll. A hint is only a trigger; the key is the truth. After the
 * connection was lost, ioredis resubscribes and each listener is called with `undefined`.
 *
 * The check is a repeated SUBSCRIBE, which changes nothing and must be answered.
 */
export class Hints {
  readonly #client: RedisClient;
  readonly #listeners = new Map<string, Set<HintListener>>();
  /** Channels that this connection is subscribed to. */
  readonly #open = new Set<string>();
  #timer: NodeJS.Timeout | undefined;

  /** @param client a connection with role `subscriber`, for this object alone; its end ends the checks */
  constructor(client: RedisClient) {
    this.#client = client;
    client.on('message', (channel: string, text: string) => this.#notify(channel, text));
    client.on('ready', () => {
      void this.#subscribe([...this.#listeners.keys()]);
      this.#watch();
    });
    client.on('close', () => {
      clearInterval(this.#timer);
      this.#open.clear();
    });
    if (client.status === 'ready') this.#watch();
  }

  /**
   * Subscribes to a channel. Does not wait for Redis: the listener is called with `undefined` once hints
   * arrive, and may then read what it missed.
   */
  subscribe(channel: string, listener: HintListener): () => void {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(listener));
    this.#open.delete(channel);
    if (this.#client.status === 'ready') void this.#subscribe([channel]);
    return () => {
      listeners.delete(listener);
      if (listeners.size > 0) return;
      this.#listeners.delete(channel);
      if (this.#client.status === 'ready') void this.#client.unsubscribe(channel).catch(() => {});
    };
  }

  /** Whether hints of a channel arrive now, as far as this connection knows. */
  isSubscribed(channel: string): boolean {
    return this.#open.has(channel);
  }

  /** Safe to repeat; after a lost connection `ready` repeats it. Resolves with an answer of Redis or without the connection. */
  async #subscribe(channels: readonly string[]): Promise<void> {
    if (channels.length === 0) return;
    try {
      await this.#client.subscribe(...channels);
    } catch {
      return;
    }
    for (const channel of channels) {
      if (this.#open.has(channel)) continue;
      this.#open.add(channel);
      this.#notify(channel, undefined);
    }
  }

  #watch(): void {
    let isAnswered = true;
    const check = async () => {
      if (this.#client.status !== 'ready') return;
      if (!isAnswered) {
        this.#client.disconnect(true);
        return;
      }
      isAnswered = false;
      await this.#subscribe([...this.#listeners.keys()]);
      isAnswered = true;
    };
    clearInterval(this.#timer);
    // After what has arrived is read: this process itself may have been blocked for so long.
    this.#timer = setInterval(() => setImmediate(() => void check()), HINTS_CHECK_MS);
    this.#timer.unref();
  }

  #notify(channel: string, text: string | undefined): void {
    for (const listener of this.#listeners.get(channel) ?? []) listener(text);
  }
}

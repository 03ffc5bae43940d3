import type { RedisClient } from './connect.ts';

/** Gets the text of a hint; gets `undefined` after a gap in which hints may have been lost. */
export type HintListener = (text: string | undefined) => void;

/**
 * Hints over Redis publish/subscribe, on one connection per process: other processes read a changed key
 * at once instead of at their next poll. A hint is only a trigger; the key is the truth. After the
 * connection was lost, ioredis resubscribes and each listener is called with `undefined`.
 */
export class Hints {
  readonly #client: RedisClient;
  readonly #listeners = new Map<string, Set<HintListener>>();

  /** @param client a connection with role `subscriber`, for this object alone */
  constructor(client: RedisClient) {
    this.#client = client;
    client.on('message', (channel: string, text: string) => this.#notify(channel, text));
    client.on('ready', () => {
      for (const channel of this.#listeners.keys()) this.#open(channel);
    });
  }

  /**
   * Subscribes to a channel. Does not wait for Redis: the listener is called with `undefined` once hints
   * arrive, and may then read what it missed.
   *
   * @returns a function that ends the subscription
   */
  subscribe(channel: string, listener: HintListener): () => void {
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(listener));
    if (this.#client.status === 'ready') this.#open(channel);
    return () => {
      listeners.delete(listener);
      if (listeners.size > 0) return;
      this.#listeners.delete(channel);
      if (this.#client.status === 'ready') void this.#client.unsubscribe(channel).catch(() => {});
    };
  }

  /** Safe to repeat; after a lost connection `ready` repeats it. */
  #open(channel: string): void {
    this.#client.subscribe(channel).then(
      () => this.#notify(channel, undefined),
      () => {},
    );
  }

  #notify(channel: string, text: string | undefined): void {
    for (const listener of this.#listeners.get(channel) ?? []) listener(text);
  }
}

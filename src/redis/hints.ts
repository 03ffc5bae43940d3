import type { RedisClient } from './connect.ts';

/** Called with a hint's text; called with `undefined` after a gap in which hints may have been lost. */
export type HintListener = (text: string | undefined) => void;

/**
 * Hints over Redis publish/subscribe, one connection per process: they make others look at once
 * instead of at their next poll. A hint is never the truth itself: whoever gets one reads the key.
 * After a broken connection ioredis subscribes again and each listener is told of the gap.
 */
export class Hints {
  readonly #client: RedisClient;
  readonly #listeners = new Map<string, Set<HintListener>>();

  /** @param client a connection with role `subscriber`, for this object alone */
  constructor(client: RedisClient) {
    this.#client = client;
    client.on('message', (channel: string, text: string) => this.#tell(channel, text));
    client.on('ready', () => {
      for (const channel of this.#listeners.keys()) this.#open(channel);
    });
  }

  /**
   * Listens on a channel; the answer ends the listening. Does not wait for Redis: the listener is
   * called with `undefined` once hints flow, and may then read what it missed.
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

  /** Safe to repeat; a connection that breaks meanwhile comes back through `ready`. */
  #open(channel: string): void {
    this.#client.subscribe(channel).then(
      () => this.#tell(channel, undefined),
      () => {},
    );
  }

  #tell(channel: string, text: string | undefined): void {
    for (const listener of this.#listeners.get(channel) ?? []) listener(text);
  }
}

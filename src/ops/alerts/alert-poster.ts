import type { Logger } from 'pino';
import type { AlertStore } from './alert-store.ts';
import type { Webhook } from './webhook.ts';

const RETRY_MOST_MS = 300_000;

/** An alert that could not be posted for so long is given up. */
const GIVE_UP_MS = 24 * 3_600_000;

/** Posts of one round at most, and how long a round of posts may take: the lease outlasts it. */
const POSTS_PER_ROUND = 20;
const ROUND_MS = 8_000;

/**
 * Posts what waits in the outbox, the oldest first. One that is not taken is tried again with growing
 * pauses, and those behind it wait: they come in their order. Whoever leads next begins at the first.
 */
export class AlertPoster {
  readonly #store: Pick<AlertStore, 'next' | 'remove'>;
  readonly #webhook: Webhook;
  readonly #retryMs: number;
  readonly #log: Logger;
  #failures = 0;
  #notBefore = 0;

  /** @param retryMs wait after the first post that was not taken; it doubles with each */
  constructor(
    store: Pick<AlertStore, 'next' | 'remove'>,
    webhook: Webhook,
    retryMs: number,
    log: Logger,
  ) {
    this.#store = store;
    this.#webhook = webhook;
    this.#retryMs = retryMs;
    this.#log = log;
  }

  /**
   * @param when `due`: not before the pause after a failure has passed
   * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
   */
  async postWaiting(when: 'due' | 'now' = 'due'): Promise<void> {
    const begun = performance.now();
    if (when === 'due' && begun < this.#notBefore) return;
    for (let post = 0; post < POSTS_PER_ROUND; post++) {
      if (performance.now() - begun > ROUND_MS) return;
      const next = await this.#store.next();
      if (next === undefined) return;
      const { id } = next;
      if (Date.now() - next.at > GIVE_UP_MS) {
        this.#log.error({ event: 'alert-given-up', id });
        await this.#store.remove(next);
        continue;
      }
      const posted = await this.#webhook.post(next);
      if (!posted.taken) {
        this.#pause();
        const failures = this.#failures;
        this.#log.warn({ event: 'alert-not-taken', id, code: posted.why, failures });
        return;
      }
      this.#failures = 0;
      this.#log.info({ event: 'alert-posted', id, status: posted.status });
      await this.#store.remove(next);
    }
  }

  /** Ends a post that is under way. */
  async close(): Promise<void> {
    await this.#webhook.close();
  }

  #pause(): void {
    const full = Math.min(this.#retryMs * 2 ** this.#failures, RETRY_MOST_MS);
    this.#failures++;
    // Half of it for certain, the other half by chance.
    this.#notBefore = performance.now() + full * (0.5 + Math.random() / 2);
  }
}

import type { Logger } from 'pino';
import type { Outbox } from './outbox.ts';
import type { Webhook } from './webhook.ts';

const MAX_RETRY_MS = 300_000;

/** Age in milliseconds at which an undelivered alert is discarded. */
const GIVE_UP_MS = 24 * 3_600_000;

/** Most posts per round, and longest duration of a round in milliseconds; shorter than the lease. */
const POSTS_PER_ROUND = 20;
const ROUND_MS = 8_000;

/**
 * Posts the alerts in one outbox, oldest first. A failed post is retried with growing delays, and later
 * alerts wait behind it, so that their order is kept. The next leader continues with the oldest.
 */
export class AlertPoster {
  readonly #outbox: Pick<Outbox, 'next' | 'remove'>;
  readonly #webhook: Webhook;
  readonly #retryMs: number;
  readonly #log: Logger;
  #failures = 0;
  #notBefore = 0;
  #posting: Promise<void> | undefined;

  /** @param retryMs delay after the first failed post, in milliseconds; doubles with each failure */
  constructor(
    outbox: Pick<Outbox, 'next' | 'remove'>,
    webhook: Webhook,
    retryMs: number,
    log: Logger,
  ) {
    this.#outbox = outbox;
    this.#webhook = webhook;
    this.#retryMs = retryMs;
    this.#log = log;
  }

  /**
   * A call while another one posts waits for that one.
   *
   * @param when `due`: not before the delay after a failure is over; `now`: at once
   * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
   */
  async postWaiting(when: 'due' | 'now' = 'due'): Promise<void> {
    this.#posting ??= this.#post(when).finally(() => {
      this.#posting = undefined;
    });
    await this.#posting;
  }

  async #post(when: 'due' | 'now'): Promise<void> {
    const startedAt = performance.now();
    if (when === 'due' && startedAt < this.#notBefore) return;
    for (let post = 0; post < POSTS_PER_ROUND; post++) {
      if (performance.now() - startedAt > ROUND_MS) return;
      const next = await this.#outbox.next();
      if (next === undefined) return;
      const { id } = next;
      if (Date.now() - next.at > GIVE_UP_MS) {
        this.#log.error({ event: 'alert-given-up', id });
        await this.#outbox.remove(next, 'given up');
        continue;
      }
      const posted = await this.#webhook.post(next);
      if (!posted.taken) {
        this.#delay();
        const failures = this.#failures;
        this.#log.warn({ event: 'alert-not-taken', id, code: posted.why, failures });
        return;
      }
      this.#failures = 0;
      this.#log.info({ event: 'alert-posted', id, status: posted.status });
      await this.#outbox.remove(next);
    }
  }

  /** Aborts a post in progress. */
  async close(): Promise<void> {
    await this.#webhook.close();
  }

  #delay(): void {
    const full = Math.min(this.#retryMs * 2 ** this.#failures, MAX_RETRY_MS);
    this.#failures++;
    // Half of it fixed, the other half random.
    this.#notBefore = performance.now() + full * (0.5 + Math.random() / 2);
  }
}

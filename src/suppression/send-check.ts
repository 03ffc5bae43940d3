import type { RedisClient } from '../redis/connect.ts';
import { hintChannel, type Hints } from '../redis/hints.ts';
import type { Keys } from '../redis/keys.ts';
import type { DoNotSendList } from './do-not-send.ts';

/** So long it counts as empty: then one that got no hint, and did not notice that, asks again. In milliseconds. */
const EMPTY_FOR_MS = 2_000;

const NONE: ReadonlySet<number> = new Set();

/**
 * The do-not-send list as a worker asks it before it sends. While the process knows that the list is empty, nothing is
 * asked: while it gets hints, and for two seconds at most.
 */
export class SendCheck {
  readonly #list: Pick<DoNotSendList, 'find'>;
  readonly #hints: Hints;
  readonly #channel: string;
  readonly #onFailure: (error: unknown) => void;
  /** Until when the list counts as empty, by performance.now(). */
  #emptyUntil = 0;
  /** Raised by each hint: an answer that was asked for before is then outdated. */
  #news = 0;
  #unsubscribe: (() => void) | undefined;

  constructor(
    list: Pick<DoNotSendList, 'find'>,
    redis: RedisClient,
    hints: Hints,
    keys: Pick<Keys, 'suppressHints'>,
    onFailure: (error: unknown) => void,
  ) {
    this.#list = list;
    this.#hints = hints;
    this.#onFailure = onFailure;
    this.#channel = hintChannel(redis, keys.suppressHints);
  }

  start(): void {
    this.#unsubscribe ??= this.#hints.subscribe(this.#channel, () => {
      this.#news++;
      this.#emptyUntil = 0;
      // Where it fails, the next attempt asks.
      void this.hits([]).catch(() => {});
    });
  }

  stop(): void {
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
  }

  /** Whether nothing has to be asked. */
  get isEmpty(): boolean {
    return performance.now() < this.#emptyUntil && this.#hints.isSubscribed(this.#channel);
  }

  /**
   * Which contacts must not be sent to, by their index.
   * @returns undefined where that is not known: nothing may be sent
   */
  async suppressed(
    contacts: readonly { readonly contact?: unknown }[],
  ): Promise<ReadonlySet<number> | undefined> {
    if (this.isEmpty) return NONE;
    const numbers = contacts.map(({ contact }) => (typeof contact === 'string' ? contact : ''));
    try {
      return await this.hits(numbers);
    } catch {
      return undefined;
    }
  }

  /** Which of the numbers must not be sent to, by their index. @throws NoticeQueueError */
  async hits(numbers: readonly string[]): Promise<ReadonlySet<number>> {
    const news = this.#news;
    const asked = performance.now();
    const found = await this.#list.find(numbers).catch((error: unknown) => {
      this.#onFailure(error);
      throw error;
    });
    if (found !== undefined) return new Set(found.keys());
    if (news === this.#news) this.#emptyUntil = asked + EMPTY_FOR_MS;
    return NONE;
  }
}

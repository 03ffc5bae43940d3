import type { RedisClient } from '../../redis/connect.ts';
import { redisFailure } from '../../redis/failure.ts';
import type { OutboxKeys } from '../../redis/keys.ts';
import { defineScript } from '../../redis/script.ts';
import type { AlertEvent } from './alert-event.ts';

/** Alerts that are kept after they were posted or given up. */
const MAX_POSTED = 1_000;

/** Alerts per read of the kept ones. */
const PAGE = 100;

/** An alert in the outbox. */
export interface Outgoing {
  /** Id of its entry in the outbox. */
  readonly entry: string;
  /** When it was added, in milliseconds since the epoch. */
  readonly at: number;
  readonly id: string;
  /** The body in JSON, before it is formatted and signed. */
  readonly body: string;
}

/** What became of an alert. */
export type PostedAs = 'posted' | 'given up';

/** An alert, with what became of it. */
export interface ListedAlert {
  readonly id: string;
  readonly event: string;
  readonly title: string;
  readonly at: string;
  readonly as: 'waiting' | PostedAs;
}

/** Moves an alert to the kept ones, once. KEYS: outbox, posted. ARGV: entry, as what. */
const moveScript = defineScript({
  name: 'move a posted alert',
  keys: 2,
  lua: `
local found = redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])[1]
if not found then return 0 end
redis.call('XADD', KEYS[2], 'MAXLEN', ${MAX_POSTED}, '*', 'alert', found[2][2], 'as', ARGV[2])
return redis.call('XDEL', KEYS[1], ARGV[1])`,
});

/** What waits for one webhook, and what it got. All methods throw QUEUE_UNAVAILABLE or QUEUE_REFUSED. */
export class Outbox {
  readonly #redis: RedisClient;
  readonly #keys: OutboxKeys;

  constructor(redis: RedisClient, keys: OutboxKeys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /** @returns the oldest alert that waits */
  async next(): Promise<Outgoing | undefined> {
    const [first] = await this.#ask(() =>
      this.#redis.xrange(this.#keys.outbox, '-', '+', 'COUNT', 1),
    );
    if (first === undefined) return undefined;
    const [entry, [, body = '{}']] = first;
    const { id } = JSON.parse(body) as AlertEvent;
    return { entry, at: Number.parseInt(entry, 10), id, body };
  }

  /** @returns the number of alerts that wait */
  async waiting(): Promise<number> {
    return this.#ask(() => this.#redis.xlen(this.#keys.outbox));
  }

  /** Removes an alert that was posted or given up; it is kept for a replay. Safe to repeat. */
  async remove({ entry }: Pick<Outgoing, 'entry'>, as: PostedAs = 'posted'): Promise<void> {
    const { outbox, posted } = this.#keys;
    await this.#ask(() => moveScript(this.#redis, [outbox, posted], [entry, as]));
  }

  /** @returns the newest alerts first: those that wait, then those that were posted or given up */
  async list(most: number): Promise<ListedAlert[]> {
    const { outbox, posted } = this.#keys;
    const newest = (stream: string) => this.#redis.xrevrange(stream, '+', '-', 'COUNT', most);
    const [waiting, kept] = await this.#ask(() => Promise.all([newest(outbox), newest(posted)]));
    return [...waiting, ...kept].slice(0, most).map(([, [, body = '{}', , as]]) => {
      const { id, event, title, at } = JSON.parse(body) as AlertEvent;
      return { id, event, title, at, as: as === undefined ? 'waiting' : (as as PostedAs) };
    });
  }

  /**
   * Posts an alert again that was posted or given up, with its id and its old content.
   *
   * @returns false where it is not kept (any more)
   */
  async replay(id: string): Promise<boolean> {
    const { outbox, posted } = this.#keys;
    let before = '+';
    for (;;) {
      const from = before;
      const page = await this.#ask(() => this.#redis.xrevrange(posted, from, '-', 'COUNT', PAGE));
      const found = page.find(([, [, body = '{}']]) => (JSON.parse(body) as AlertEvent).id === id);
      const [, body] = found?.[1] ?? [];
      if (body !== undefined) {
        await this.#ask(() => this.#redis.xadd(outbox, '*', 'alert', body));
        return true;
      }
      const last = page.at(-1)?.[0];
      if (last === undefined || page.length < PAGE) return false;
      before = `(${last}`;
    }
  }

  async #ask<Reply>(command: () => Promise<Reply>): Promise<Reply> {
    try {
      return await command();
    } catch (error) {
      throw redisFailure(error);
    }
  }
}

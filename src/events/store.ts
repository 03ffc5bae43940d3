import { randomBytes } from 'node:crypto';
import type { RedisClient } from '../redis/connect.ts';
import { translated } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import { redisTime } from '../redis/server-clock.ts';
import { endTurn, takeTurn, type TurnChange } from '../redis/turns.ts';
import type { ReportedConditions } from './conditions.ts';
import type { WatchFinding } from './event.ts';

/** Duration of the turn in milliseconds: another process takes over within it when the leader dies. */
const TURN_MS = 30_000;

/** Names of the turn, and of the fields that change with it. */
const [TURN, CONDITIONS, CURSOR] = ['events', 'events conditions', 'events cursor'] as const;

/**
 * What all processes with a webhook share in Redis: which one watches and posts, the conditions that it reported, and the
 * cursor of the last event that the webhook has taken. Its methods throw NoticeQueueError QUEUE_UNAVAILABLE or
 * QUEUE_REFUSED.
 */
export class EventStore {
  readonly #redis: RedisClient;
  readonly #keys: Pick<Keys, 'events' | 'turns'>;
  readonly #nonce = randomBytes(12).toString('base64url');

  constructor(redis: RedisClient, keys: Pick<Keys, 'events' | 'turns'>) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /** @returns whether this process leads, for {@link TURN_MS} from now */
  lead(): Promise<boolean> {
    return this.#turn(TURN_MS);
  }

  /** Ends the turn, so that another process can lead at once. */
  async resign(): Promise<void> {
    await endTurn(this.#redis, this.#keys, TURN, this.#nonce, 0);
  }

  /** The conditions that were reported, as they are stored; '' before the first report. */
  conditions(): Promise<string> {
    return this.#read(CONDITIONS);
  }

  /**
   * Stores what is reported and appends the findings in one step: none is lost or reported twice when the leader changes.
   *
   * @param before {@link conditions} as they were judged
   * @returns false where another process leads now: nothing was stored
   */
  report(
    before: string,
    conditions: ReportedConditions,
    findings: readonly WatchFinding[],
  ): Promise<boolean> {
    const texts = findings.map((one) => JSON.stringify(one));
    const value = JSON.stringify(conditions);
    return this.#turn(TURN_MS, { field: CONDITIONS, before, value, findings: texts });
  }

  /** Cursor of the last event that the webhook has taken; '' before the first one. */
  cursor(): Promise<string> {
    return this.#read(CURSOR);
  }

  /** @returns false where another process leads, or the cursor was set by hand meanwhile */
  advance(before: string, value: string): Promise<boolean> {
    return this.#turn(TURN_MS, { field: CURSOR, before, value });
  }

  /** Sets the cursor by hand: the events after it are posted again. @returns whether a process with a webhook runs */
  async replay(cursor: string): Promise<boolean> {
    await translated(this.#redis.hset(this.#keys.turns, CURSOR, cursor));
    const ends = Number.parseInt(await this.#read(TURN), 10);
    return ends > (await translated(redisTime(this.#redis)));
  }

  /** Whether the event at a cursor was deleted: then later ones may have been, too. */
  async isDeleted(cursor: string): Promise<boolean> {
    if (cursor === '0') return false;
    const { events } = this.#keys;
    return (await translated(this.#redis.xrange(events, cursor, cursor))).length === 0;
  }

  #turn(ms: number, change?: TurnChange): Promise<boolean> {
    return takeTurn(this.#redis, this.#keys, TURN, this.#nonce, ms, change);
  }

  async #read(field: string): Promise<string> {
    return (await translated(this.#redis.hget(this.#keys.turns, field))) ?? '';
  }
}

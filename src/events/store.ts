import { randomBytes } from 'node:crypto';
import type { RedisClient } from '../redis/connect.ts';
import { translated } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import { defineScript } from '../redis/script.ts';
import type { ReportedConditions } from './conditions.ts';
import type { WatchFinding } from './event.ts';

/** Duration of the lease in milliseconds: another process takes over within it when the leader dies. */
const LEASE_MS = 30_000;

/** ARGV: nonce, milliseconds. Takes or renews the lease; returns 1 where this process has it. */
const takeLease = defineScript({
  name: 'take the lease of events',
  keys: 1,
  lua: `
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`,
  parse: (reply: unknown) => reply === 1,
});

/** ARGV: nonce. Drops the lease where this process has it. */
const dropLease = defineScript({
  name: 'drop the lease of events',
  keys: 1,
  lua: `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 0`,
});

/**
 * Stores what is reported and appends the findings in one step, for the holder of the lease only: none is lost or
 * reported twice when the leader changes. KEYS: lease, state, events. ARGV: nonce, conditions, the findings.
 */
const report = defineScript({
  name: 'report findings',
  keys: 3,
  lua: `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[2], 'conditions', ARGV[2])
for at = 3, #ARGV do redis.call('XADD', KEYS[3], '*', 'event', 'watch', 'finding', ARGV[at]) end
return 1`,
  parse: (reply: unknown) => reply === 1,
});

/** Stores the cursor, unless it was set by hand meanwhile. KEYS: lease, state. ARGV: nonce, the cursor before, the new one. */
const advance = defineScript({
  name: 'advance the cursor of the webhook',
  keys: 2,
  lua: `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if (redis.call('HGET', KEYS[2], 'cursor') or '0') ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[2], 'cursor', ARGV[3])
return 1`,
  parse: (reply: unknown) => reply === 1,
});

/**
 * What all processes with a webhook share in Redis: the lease of the one that watches and posts, the conditions that
 * it reported, and the cursor of the last event that the webhook has taken. Its methods throw NoticeQueueError
 * QUEUE_UNAVAILABLE or QUEUE_REFUSED.
 */
export class EventStore {
  readonly #redis: RedisClient;
  readonly #keys: Pick<Keys, 'events' | 'eventsLease' | 'eventsState'>;
  readonly #nonce = randomBytes(12).toString('base64url');

  constructor(redis: RedisClient, keys: Pick<Keys, 'events' | 'eventsLease' | 'eventsState'>) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /** @returns whether this process leads, for {@link LEASE_MS} from now */
  async lead(): Promise<boolean> {
    const lease = [this.#keys.eventsLease];
    return translated(takeLease(this.#redis, lease, [this.#nonce, LEASE_MS]));
  }

  /** Drops the lease, so that another process can lead at once. */
  async resign(): Promise<void> {
    await translated(dropLease(this.#redis, [this.#keys.eventsLease], [this.#nonce]));
  }

  async conditions(): Promise<ReportedConditions> {
    const text = await translated(this.#redis.hget(this.#keys.eventsState, 'conditions'));
    return text === null ? {} : (JSON.parse(text) as ReportedConditions);
  }

  /** @returns false where another process leads now: nothing was stored */
  async report(
    conditions: ReportedConditions,
    findings: readonly WatchFinding[],
  ): Promise<boolean> {
    const { eventsLease, eventsState, events } = this.#keys;
    const texts = [conditions, ...findings].map((one) => JSON.stringify(one));
    const used = [eventsLease, eventsState, events];
    return translated(report(this.#redis, used, [this.#nonce, ...texts]));
  }

  /** Cursor of the last event that the webhook has taken; '0' before the first one. */
  async cursor(): Promise<string> {
    return (await translated(this.#redis.hget(this.#keys.eventsState, 'cursor'))) ?? '0';
  }

  /** @returns false where another process leads, or the cursor was set by hand meanwhile */
  async advance(before: string, cursor: string): Promise<boolean> {
    const { eventsLease, eventsState } = this.#keys;
    const args = [this.#nonce, before, cursor];
    return translated(advance(this.#redis, [eventsLease, eventsState], args));
  }

  /** Sets the cursor by hand: the events after it are posted again. @returns whether a process with a webhook runs */
  async replay(cursor: string): Promise<boolean> {
    const { eventsLease, eventsState } = this.#keys;
    await translated(this.#redis.hset(eventsState, 'cursor', cursor));
    return (await translated(this.#redis.exists(eventsLease))) === 1;
  }

  /** Whether the event at a cursor was deleted: then later ones may have been, too. */
  async isDeleted(cursor: string): Promise<boolean> {
    if (cursor === '0') return false;
    const { events } = this.#keys;
    return (await translated(this.#redis.xrange(events, cursor, cursor))).length === 0;
  }
}

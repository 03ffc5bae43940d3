import { randomBytes } from 'node:crypto';
import type { RedisClient } from '../../redis/connect.ts';
import { redisFailure } from '../../redis/failure.ts';
import type { Keys } from '../../redis/keys.ts';
import { defineScript } from '../../redis/script.ts';
import { EVENT_NAMES, type AlertDraft, type AlertEvent } from './alert-event.ts';
import type { AlertMemory } from './alert-snapshot.ts';

/** Duration of the lease in milliseconds: another process takes over within it when the leader dies. */
export const LEASE_MS = 30_000;

/** Lifetime of the memory after the last round, in milliseconds. */
const MEMORY_MS = 90 * 24 * 3_600_000;

/** Most alerts in an outbox; the oldest are dropped, which is logged. */
const MAX_ALERTS = 1_000;
const MAX_EVENTS = 11_000;

/** Most events in the outbox with which ends of notices are still added to it: others wait where they are. */
const MAX_ENDS = 10_000;

/**
 * From so many events in the outbox on, its receiver is away: then only full events are added, so that the
 * number of events depends on the number of ends and not on the length of the outage.
 */
const ONLY_FULL_ENDS = 100;

/** The receivers of alerts. */
export interface AlertReceivers<Of> {
  /** Gets all alerts, for people. */
  readonly alerts?: Of | undefined;
  /** Gets the alerts of {@link EVENT_NAMES}, for a program. */
  readonly events?: Of | undefined;
}

/** ARGV: nonce, milliseconds. Takes or renews the lease; returns 1 where this process has it. */
const takeLease = defineScript({
  name: 'take alert lease',
  keys: 1,
  lua: `
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] and redis.call('PTTL', KEYS[1]) <= tonumber(ARGV[2]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`,
});

/** ARGV: nonce. Drops the lease where this process has it. */
const dropLease = defineScript({
  name: 'drop alert lease',
  keys: 1,
  lua: `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 0`,
});

/**
 * Stores the memory and adds the alerts to the outboxes in one step, for the holder of the lease only: so
 * no alert is lost or reported twice when the leader changes. KEYS: lease, memory, the outboxes. ARGV: nonce,
 * memory, its lifetime, how many alerts are for the first outbox, then these, then those for the second.
 * Returns -1 where another process has the lease, else how many of the oldest alerts of both were dropped.
 */
const commit = defineScript({
  name: 'commit alerts',
  keys: 4,
  lua: `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return -1 end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
local function add(outbox, most, first, last)
  for index = first, last do redis.call('XADD', outbox, '*', 'alert', ARGV[index]) end
  return last < first and 0 or redis.call('XTRIM', outbox, 'MAXLEN', most)
end
local last = 4 + tonumber(ARGV[4])
return add(KEYS[3], ${MAX_ALERTS}, 5, last) + add(KEYS[4], ${MAX_EVENTS}, last + 1, #ARGV)`,
});

/**
 * What became of ends of notices: in the outbox; it is full; its receiver is away, and they do not fill an event
 * yet; another process leads or has forwarded them.
 */
export type Forwarded = 'done' | 'full' | 'later' | 'lost';

/**
 * Adds ends of notices to the outbox of events together with their cursor, for the holder of the lease only.
 * KEYS: lease, cursor, outbox. ARGV: nonce, the cursor before, the new one, the alert or '', whether it is full (1).
 */
const forward = defineScript({
  name: 'forward ends of notices',
  keys: 3,
  lua: `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 'lost' end
if (redis.call('GET', KEYS[2]) or '') ~= ARGV[2] then return 'lost' end
local waiting = redis.call('XLEN', KEYS[3])
if waiting >= ${MAX_ENDS} then return 'full' end
if waiting >= ${ONLY_FULL_ENDS} and ARGV[5] ~= '1' then return 'later' end
redis.call('SET', KEYS[2], ARGV[3])
if ARGV[4] ~= '' then redis.call('XADD', KEYS[3], '*', 'alert', ARGV[4]) end
return 'done'`,
  parse: (reply: unknown) => reply as Forwarded,
});

/**
 * State that all processes with alerts share in Redis: the lease of the leader, the memory of reported
 * alerts, and how far the ends of notices are forwarded. Its methods throw NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED.
 */
export class AlertStore {
  readonly #redis: RedisClient;
  readonly #keys: Pick<Keys, 'alerts' | 'events'>;
  readonly #nonce = randomBytes(12).toString('base64url');

  constructor(redis: RedisClient, keys: Pick<Keys, 'alerts' | 'events'>) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /** @returns whether this process leads, for {@link LEASE_MS} from now */
  async lead(): Promise<boolean> {
    return (await this.#ask(() => this.#run(takeLease, [LEASE_MS]))) === 1;
  }

  /** Drops the lease, so that another process can lead at once. */
  async resign(): Promise<void> {
    await this.#ask(() => this.#run(dropLease, []));
  }

  /** @returns undefined where there is no memory, or it is of another version */
  async memory(): Promise<AlertMemory | undefined> {
    const text = await this.#ask(() => this.#redis.get(this.#keys.alerts.memory));
    if (text === null) return undefined;
    const { v, ...memory } = JSON.parse(text) as AlertMemory & { readonly v?: number };
    return v === VERSION ? memory : undefined;
  }

  /**
   * @param receivers who gets alerts; what a receiver does not get is not stored for it
   * @returns how many of the oldest alerts were dropped because an outbox was full; undefined where another process
   *   leads now: nothing was stored
   */
  async commit(
    memory: AlertMemory,
    alerts: readonly AlertEvent[],
    receivers: AlertReceivers<unknown>,
  ): Promise<number | undefined> {
    const { alerts: keys, events } = this.#keys;
    const forPeople = receivers.alerts === undefined ? [] : alerts;
    const forPrograms =
      receivers.events === undefined
        ? []
        : alerts.filter(({ event }) => EVENT_NAMES.includes(event));
    const texts = [...forPeople, ...forPrograms].map((alert) => JSON.stringify(alert));
    const kept = JSON.stringify({ v: VERSION, ...memory });
    const args = [this.#nonce, kept, MEMORY_MS, forPeople.length, ...texts];
    const used = [keys.lease, keys.memory, keys.outbox, events.outbox];
    const dropped = Number(await this.#ask(() => commit(this.#redis, used, args)));
    return dropped < 0 ? undefined : dropped;
  }

  /** @returns cursor of the last end of a notice that was forwarded; undefined before the first time */
  async forwarded(): Promise<string | undefined> {
    return (await this.#ask(() => this.#redis.get(this.#keys.events.forwarded))) ?? undefined;
  }

  /**
   * @param alert undefined to store the cursor alone
   * @param isFull whether it has as many ends as one event can have
   */
  async forward(
    before: string | undefined,
    cursor: string,
    alert: AlertEvent | undefined,
    isFull: boolean,
  ): Promise<Forwarded> {
    const { forwarded, outbox } = this.#keys.events;
    const body = alert === undefined ? '' : JSON.stringify(alert);
    const args = [this.#nonce, before ?? '', cursor, body, isFull ? 1 : 0];
    return this.#ask(() =>
      forward(this.#redis, [this.#keys.alerts.lease, forwarded, outbox], args),
    );
  }

  #run(script: typeof takeLease, args: readonly number[]): Promise<unknown> {
    return script(this.#redis, [this.#keys.alerts.lease], [this.#nonce, ...args]);
  }

  async #ask<Reply>(command: () => Promise<Reply>): Promise<Reply> {
    try {
      return await command();
    } catch (error) {
      throw redisFailure(error);
    }
  }
}

/** Version of the stored memory. */
const VERSION = 1;

/** Adds id and time to an alert. */
export function alertEvent(draft: AlertDraft, queue: string, now: number): AlertEvent {
  const id = `alert-${randomBytes(12).toString('base64url')}`;
  return { version: 1, id, queue, at: new Date(now).toISOString(), ...draft };
}

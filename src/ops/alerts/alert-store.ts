import { randomBytes } from 'node:crypto';
import type { RedisClient } from '../../redis/connect.ts';
import { redisFailure } from '../../redis/failure.ts';
import type { Keys } from '../../redis/keys.ts';
import { defineScript } from '../../redis/script.ts';
import type { AlertDraft, AlertEvent } from './alert-event.ts';
import type { AlertMemory } from './alert-snapshot.ts';

/** Duration of the lease in milliseconds: another process takes over within it when the leader dies. */
export const LEASE_MS = 30_000;

/** Lifetime of the memory after the last round, in milliseconds. */
const MEMORY_MS = 90 * 24 * 3_600_000;

/** Most alerts in the outbox; the oldest are dropped. */
const MAX_OUTBOX = 1_000;

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
 * Stores the memory and adds the alerts to the outbox in one step, for the holder of the lease only: so
 * no alert is lost or reported twice when the leader changes. ARGV: nonce, memory, its lifetime, then
 * each alert. Returns 1, or 0 where another process has the lease.
 */
const commit = defineScript({
  name: 'commit alerts',
  keys: 3,
  lua: `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
for index = 4, #ARGV do
  redis.call('XADD', KEYS[3], 'MAXLEN', ${MAX_OUTBOX}, '*', 'alert', ARGV[index])
end
return 1`,
});

/** An alert in the outbox. */
export interface Outgoing {
  /** Id of its entry in the outbox. */
  readonly entry: string;
  /** When it was added, in milliseconds since the epoch. */
  readonly at: number;
  readonly id: string;
  /** The body that is signed and posted. */
  readonly body: string;
}

/**
 * State that all processes with alerts share in Redis: the lease of the leader, the memory of reported
 * alerts, and the outbox. Its methods throw NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED.
 */
export class AlertStore {
  readonly #redis: RedisClient;
  readonly #keys: Keys['alerts'];
  readonly #nonce = randomBytes(12).toString('base64url');

  constructor(redis: RedisClient, keys: Pick<Keys, 'alerts'>) {
    this.#redis = redis;
    this.#keys = keys.alerts;
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
    const text = await this.#ask(() => this.#redis.get(this.#keys.memory));
    if (text === null) return undefined;
    const { v, ...memory } = JSON.parse(text) as AlertMemory & { readonly v?: number };
    return v === VERSION ? memory : undefined;
  }

  /** @returns false where another process leads now: nothing was stored */
  async commit(memory: AlertMemory, alerts: readonly AlertEvent[]): Promise<boolean> {
    const { lease, memory: kept, outbox } = this.#keys;
    const args = [this.#nonce, JSON.stringify({ v: VERSION, ...memory }), MEMORY_MS];
    const texts = alerts.map((alert) => JSON.stringify(alert));
    const done = await this.#ask(() =>
      commit(this.#redis, [lease, kept, outbox], [...args, ...texts]),
    );
    return done === 1;
  }

  /** @returns the oldest alert in the outbox */
  async next(): Promise<Outgoing | undefined> {
    const [first] = await this.#ask(() =>
      this.#redis.xrange(this.#keys.outbox, '-', '+', 'COUNT', 1),
    );
    if (first === undefined) return undefined;
    const [entry, [, body = '{}']] = first;
    const { id } = JSON.parse(body) as AlertEvent;
    return { entry, at: Number.parseInt(entry, 10), id, body };
  }

  /** @returns the number of alerts in the outbox */
  async waiting(): Promise<number> {
    return this.#ask(() => this.#redis.xlen(this.#keys.outbox));
  }

  async remove({ entry }: Outgoing): Promise<void> {
    await this.#ask(() => this.#redis.xdel(this.#keys.outbox, entry));
  }

  #run(script: typeof takeLease, args: readonly number[]): Promise<unknown> {
    return script(this.#redis, [this.#keys.lease], [this.#nonce, ...args]);
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

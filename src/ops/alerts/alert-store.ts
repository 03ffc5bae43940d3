import { randomBytes } from 'node:crypto';
import type { RedisClient } from '../../redis/connect.ts';
import { redisFailure } from '../../redis/failure.ts';
import type { Keys } from '../../redis/keys.ts';
import { defineScript } from '../../redis/script.ts';
import type { AlertDraft, AlertEvent } from './alert-event.ts';
import type { AlertMemory } from './alert-snapshot.ts';

/** After a leader died another one takes over within this time. */
export const LEASE_MS = 30_000;

/** What was told is forgotten when nobody has looked for so long. */
const MEMORY_MS = 90 * 24 * 3_600_000;

/** Alerts that wait to be posted, at most; the oldest ones go. */
const OUTBOX_MOST = 1_000;

/** ARGV: nonce, milliseconds. Takes the lease or keeps it; answers 1 where it is this process's. */
const takeLease = defineScript({
  name: 'take alert lease',
  keys: 1,
  lua: `
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] and redis.call('PTTL', KEYS[1]) <= tonumber(ARGV[2]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`,
});

/** ARGV: nonce. */
const dropLease = defineScript({
  name: 'drop alert lease',
  keys: 1,
  lua: `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 0`,
});

/**
 * What is told is remembered and put into the outbox in one step, by the holder of the lease alone: so
 * nothing is lost and nothing told twice when the leader changes. ARGV: nonce, memory, its lifetime,
 * then each alert. Answers 1, or 0 where the lease is another's.
 */
const commit = defineScript({
  name: 'commit alerts',
  keys: 3,
  lua: `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
for index = 4, #ARGV do
  redis.call('XADD', KEYS[3], 'MAXLEN', ${OUTBOX_MOST}, '*', 'alert', ARGV[index])
end
return 1`,
});

/** An alert that waits to be posted. */
export interface Outgoing {
  /** Its place in the outbox. */
  readonly entry: string;
  /** When it was put there, milliseconds since the epoch. */
  readonly at: number;
  readonly id: string;
  /** The body of the post, as it is signed. */
  readonly body: string;
}

/**
 * What the processes that look for alerts share: who looks, what was told, and what is still to be
 * posted. Its methods throw NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED.
 */
export class AlertStore {
  readonly #redis: RedisClient;
  readonly #keys: Keys['alerts'];
  readonly #nonce = randomBytes(12).toString('base64url');

  constructor(redis: RedisClient, keys: Pick<Keys, 'alerts'>) {
    this.#redis = redis;
    this.#keys = keys.alerts;
  }

  /** @returns whether this process is to look, for {@link LEASE_MS} from now */
  async lead(): Promise<boolean> {
    return (await this.#ask(() => this.#run(takeLease, [LEASE_MS]))) === 1;
  }

  /** Lets another process lead at once. */
  async resign(): Promise<void> {
    await this.#ask(() => this.#run(dropLease, []));
  }

  /** Undefined where nobody ever looked, or what is there cannot be read. */
  async memory(): Promise<AlertMemory | undefined> {
    const text = await this.#ask(() => this.#redis.get(this.#keys.memory));
    if (text === null) return undefined;
    const { v, ...memory } = JSON.parse(text) as AlertMemory & { readonly v?: number };
    return v === VERSION ? memory : undefined;
  }

  /** @returns false where another process leads by now, and nothing was kept */
  async commit(memory: AlertMemory, alerts: readonly AlertEvent[]): Promise<boolean> {
    const { lease, memory: kept, outbox } = this.#keys;
    const args = [this.#nonce, JSON.stringify({ v: VERSION, ...memory }), MEMORY_MS];
    const texts = alerts.map((alert) => JSON.stringify(alert));
    const done = await this.#ask(() =>
      commit(this.#redis, [lease, kept, outbox], [...args, ...texts]),
    );
    return done === 1;
  }

  /** The alert that has waited longest. */
  async next(): Promise<Outgoing | undefined> {
    const [first] = await this.#ask(() =>
      this.#redis.xrange(this.#keys.outbox, '-', '+', 'COUNT', 1),
    );
    if (first === undefined) return undefined;
    const [entry, [, body = '{}']] = first;
    const { id } = JSON.parse(body) as AlertEvent;
    return { entry, at: Number.parseInt(entry, 10), id, body };
  }

  /** How many alerts wait to be posted. */
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

/** Version of what is remembered. */
const VERSION = 1;

/** Gives an alert its id and its time. */
export function alertEvent(draft: AlertDraft, queue: string, now: number): AlertEvent {
  const id = `alert-${randomBytes(12).toString('base64url')}`;
  return { version: 1, id, queue, at: new Date(now).toISOString(), ...draft };
}

import type { Redis } from 'ioredis';
import type { IssuedToken } from '../../../src/contracts/token.ts';
import { keysOf, type Keys, type TokenKeys } from '../../../src/redis/keys.ts';
import { hintChannel, type Hints } from '../../../src/redis/hints.ts';
import { TokenSeal } from '../../../src/token/token-seal.ts';
import { TokenRecord } from '../../../src/token/token-record.ts';
import {
  readTokenStatus,
  type TokenEvent,
  type TokenStatus,
} from '../../../src/token/token-status.ts';
import { SharedToken } from '../../../src/token/shared-token.ts';
import type { Config } from '../../../src/config/config.ts';
import type { TestRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { changeRecord, readRecord, type StoredRecord } from './write-state.ts';

export const PAIR = 'pair-of-tests';
export const SECRET = 'secret-of-tests';

/** Short times, in the proportions of the defaults. */
export const SETTINGS: Config['token'] = {
  lockTtlMs: 3000,
  issueDeadlineMs: 2000,
  graceMs: 1000,
  budget: 60,
  budgetWindowMs: 3_600_000,
  refusedMinMs: 2000,
  refusedMaxMs: 60_000,
  renewBeforeMs: 60_000,
};

/** Hints over a connection of its own, in ten lines. */
function hintsOver(redis: Redis): Pick<Hints, 'subscribe'> {
  return {
    subscribe(channel, listener) {
      const onMessage = (from: string, text: string) => {
        if (from === channel) listener(text);
      };
      redis.on('message', onMessage);
      redis.subscribe(channel).then(
        () => listener(undefined),
        () => undefined,
      );
      return () => redis.off('message', onMessage);
    },
  };
}

/** A subscription without hints. */
export const NO_HINTS: Pick<Hints, 'subscribe'> = { subscribe: () => () => undefined };

/** A fake token endpoint: counts calls, and runs the plans of the test. */
class Issuer {
  readonly issued: string[] = [];
  asked = 0;
  #next: ((signal: AbortSignal) => Promise<IssuedToken>)[] = [];
  #always: ((signal: AbortSignal) => Promise<IssuedToken>) | undefined;

  readonly issue = async (signal: AbortSignal): Promise<IssuedToken> => {
    this.asked += 1;
    const planned = this.#next.shift() ?? this.#always;
    const issued = planned === undefined ? { value: `value-${this.asked}` } : await planned(signal);
    this.issued.push(issued.value);
    return issued;
  };

  /** What the next issuances do, in order. */
  plan(...plans: ((signal: AbortSignal) => Promise<IssuedToken>)[]): void {
    this.#next.push(...plans);
  }

  always(plan: ((signal: AbortSignal) => Promise<IssuedToken>) | undefined): void {
    this.#always = plan;
  }
}

/** One process of the fleet. */
export interface Member {
  readonly shared: SharedToken;
  readonly events: TokenEvent[];
}

/** A token record with a prefix of its own, and any number of processes. */
export class World {
  readonly accountKeys: Keys;
  readonly keys: TokenKeys;
  readonly client: Redis;
  readonly issuer = new Issuer();
  readonly #redis: TestRedis;
  readonly #settings: Config['token'];
  readonly #members: SharedToken[] = [];
  #listeners = 0;

  constructor(redis: TestRedis, settings: Partial<Config['token']> = {}) {
    this.#redis = redis;
    this.client = redis.client;
    this.accountKeys = keysOf(redis.freshPrefix(), 'default');
    this.keys = this.accountKeys.token(PAIR);
    this.#settings = { ...SETTINGS, ...settings };
  }

  async member(
    options: {
      hints?: Pick<Hints, 'subscribe'>;
      secret?: string;
      redis?: Redis;
    } = {},
  ): Promise<Member> {
    const events: TokenEvent[] = [];
    const hints = options.hints ?? hintsOver(this.#redis.connect({ name: 'hints' }));
    const shared = new SharedToken({
      redis: options.redis ?? this.client,
      hints,
      keys: this.keys,
      seal: new TokenSeal(options.secret ?? SECRET, PAIR),
      issue: this.issuer.issue,
      settings: this.#settings,
      issuer: `host:${this.#members.length}`,
      onEvent: (event) => events.push(event),
    });
    this.#members.push(shared);
    shared.start();
    if (hints !== NO_HINTS) {
      this.#listeners += 1;
      await this.#listening();
    }
    return { shared, events };
  }

  /** What status pages read. */
  status(): Promise<TokenStatus> {
    return readTokenStatus(this.client, this.keys, this.#settings.budgetWindowMs);
  }

  /** What is stored. */
  record(): Promise<StoredRecord> {
    return readRecord(this.client, this.keys);
  }

  /** Makes the stored token older than it is. */
  async age(ms: number): Promise<void> {
    await changeRecord(this.client, this.keys, ({ token }) => {
      token['issuedAt'] = Number(token['issuedAt']) - ms;
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.#members.map((shared) => shared.stop()));
  }

  async #listening(): Promise<void> {
    const heard = async () => {
      const [, count] = await this.client.pubsub(
        'NUMSUB',
        hintChannel(this.client, this.keys.hints),
      );
      return Number(count) >= this.#listeners;
    };
    await until(heard, { what: 'the subscription to hints' });
  }
}

/** A record whose scripts a test calls itself: it issues nothing. */
export function recordOver(redis: Redis, keys: TokenKeys, settings = SETTINGS): TokenRecord {
  const issue = () => Promise.reject(new Error('not asked'));
  const seal = new TokenSeal(SECRET, PAIR);
  return new TokenRecord({ redis, keys, seal, settings, issuer: 'host:1', issue });
}

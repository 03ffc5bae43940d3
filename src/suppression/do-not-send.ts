import { NoticeQueueError } from '../contracts/errors.ts';
import { SUPPRESS_REASONS, type SuppressReason } from '../contracts/suppression.ts';
import { canonicalForm } from '../format/country.ts';
import { WHOLE_BYTES, wholePrints } from '../number-index/number-prints.ts';
import type { Sealing } from '../payload/seal.ts';
import type { RedisClient } from '../redis/connect.ts';
import { translated } from '../redis/failure.ts';
import { hintChannel } from '../redis/hints.ts';
import type { Keys } from '../redis/keys.ts';
import { readListKey, type ListKey } from './list-key.ts';
import { changeList, lookUp, OTHER_KEY, REASONS } from './scripts.ts';

const MINUTE_MS = 60_000;

/** Prints per run of a script: a few milliseconds in which Redis does nothing else. */
const BYTES_AT_ONCE = 2_000 * WHOLE_BYTES;

/** Why a number is on the list, and since when: milliseconds since the epoch, to the minute. */
export interface Suppression {
  readonly reason: SuppressReason;
  readonly since: number;
}

/** A number and the reason why nothing is sent to it. */
export interface NumberToAdd {
  readonly number: string;
  readonly reason: SuppressReason;
}

/** What a value of the list means. */
export const readValue = (value: number): Suppression => ({
  reason: SUPPRESS_REASONS[value % REASONS] ?? 'other',
  since: Math.floor(value / REASONS) * MINUTE_MS,
});

/**
 * The do-not-send list of an account: keyed hashes of numbers, never numbers. A number of either form, with the country's
 * code or national, is the same one. All methods throw NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED when Redis
 * fails, and NOT_POSSIBLE where the list is encrypted with another PAYLOAD_KEY than this process has.
 */
export class DoNotSendList {
  readonly #redis: RedisClient;
  readonly #keys: Keys;
  readonly #sealing: Sealing;
  #key: Promise<ListKey> | undefined;
  /** There are prints of the key outside: it is not replaced. */
  #isFixed = false;

  constructor(redis: RedisClient, keys: Keys, sealing: Sealing) {
    this.#redis = redis;
    this.#keys = keys;
    this.#sealing = sealing;
  }

  /**
   * Which of the numbers are on the list, by their index.
   * @returns undefined where the list is empty
   */
  async find(numbers: readonly string[]): Promise<ReadonlyMap<number, Suppression> | undefined> {
    // Who only asks needs no key, and makes none, where there is no list.
    if (this.#key === undefined && (await this.count()) === 0) return undefined;
    const found = await this.#ask(async (key) => {
      const args = [key.print, printsBy(key, numbers)];
      return lookUp(this.#redis, [this.#keys.suppress], args);
    });
    if (found === 'empty') return undefined;
    return new Map([...found].map(([index, value]) => [index, readValue(value)]));
  }

  /** @returns how many were not on the list */
  add(numbers: readonly string[], reason: SuppressReason): Promise<number> {
    return this.#change('add', (key) => printsBy(key, numbers), reason);
  }

  /** @returns how many were on the list */
  remove(numbers: readonly string[]): Promise<number> {
    return this.#change('remove', (key) => printsBy(key, numbers), 'other');
  }

  /** Removes numbers of which only the prints are known. */
  removePrints(prints: Buffer): Promise<number> {
    this.#isFixed = true;
    return this.#change('remove', () => prints, 'other');
  }

  async count(): Promise<number> {
    return Number((await translated(this.#redis.hget(this.#keys.suppress, 'count'))) ?? 0);
  }

  /** The prints of numbers, one after the other. */
  async printsOf(numbers: readonly string[]): Promise<Buffer> {
    this.#isFixed = true;
    return printsBy(await this.#ownKey(), numbers);
  }

  async #change(
    verb: 'add' | 'remove',
    printsOf: (key: ListKey) => Buffer,
    reason: SuppressReason,
  ): Promise<number> {
    const { suppress, suppressHints } = this.#keys;
    const channel = hintChannel(this.#redis, suppressHints);
    const last = [verb, SUPPRESS_REASONS.indexOf(reason), channel];
    let changed = 0;
    await this.#ask(async (key) => {
      const prints = printsOf(key);
      for (let from = 0; from < prints.length; from += BYTES_AT_ONCE) {
        const some = prints.subarray(from, from + BYTES_AT_ONCE);
        const args = [key.print, some, ...last, key.field, key.stored];
        const done = await changeList(this.#redis, [suppress], args);
        if (done < 0) return OTHER_KEY;
        changed += done;
      }
      return 'done';
    });
    return changed;
  }

  /** Asks with the key of the list; once more where the list was made anew with another one since the key was read. */
  async #ask<T>(ask: (key: ListKey) => Promise<T>): Promise<Exclude<T, typeof OTHER_KEY>> {
    for (let left = 2; left > 0; left -= 1) {
      const own = this.#ownKey();
      const said = await translated(ask(await own));
      if (said !== OTHER_KEY) return said as Exclude<T, typeof OTHER_KEY>;
      if (this.#isFixed) break;
      if (this.#key === own) this.#key = undefined;
    }
    throw new NoticeQueueError(
      'NOT_POSSIBLE',
      'The do-not-send list was made anew meanwhile, with another key: try again.',
    );
  }

  /** The key of the list. */
  #ownKey(): Promise<ListKey> {
    this.#key ??= readListKey(this.#redis, this.#keys.suppress, this.#sealing).catch(
      (error: unknown) => {
        this.#key = undefined;
        throw error;
      },
    );
    return this.#key;
  }
}

const printsBy = ({ bytes }: ListKey, numbers: readonly string[]): Buffer =>
  wholePrints(bytes, numbers.map(canonicalForm));

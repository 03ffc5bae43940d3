import { createHash, hkdfSync } from 'node:crypto';
import { NoticeQueueError } from '../contracts/errors.ts';
import { SUPPRESS_REASONS, type SuppressReason } from '../contracts/suppression.ts';
import { canonicalForm } from '../format/country.ts';
import { WHOLE_BYTES, wholePrints } from '../number-index/number-prints.ts';
import { hasKeyOfAccount, readAccountSecret } from '../payload/account-secret.ts';
import type { Sealing } from '../payload/seal.ts';
import type { RedisClient } from '../redis/connect.ts';
import { translated } from '../redis/failure.ts';
import { hintChannel } from '../redis/hints.ts';
import type { Keys } from '../redis/keys.ts';
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
 * fails, and NOT_POSSIBLE where this process has another PAYLOAD_KEY than what made the list.
 */
export class DoNotSendList {
  readonly #redis: RedisClient;
  readonly #keys: Pick<Keys, 'suppress' | 'suppressHints' | 'account'>;
  readonly #sealing: Sealing;
  #key: Promise<{ readonly bytes: Buffer; readonly print: string }> | undefined;

  constructor(
    redis: RedisClient,
    keys: Pick<Keys, 'suppress' | 'suppressHints' | 'account'>,
    sealing: Sealing,
  ) {
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
    const { print } = await this.#ownKey();
    const args = [print, await this.printsOf(numbers)];
    const found = await translated(lookUp(this.#redis, [this.#keys.suppress], args));
    if (found === OTHER_KEY) throw otherKey();
    if (found === 'empty') return undefined;
    return new Map([...found].map(([index, value]) => [index, readValue(value)]));
  }

  /** @returns how many were not on the list */
  async add(numbers: readonly string[], reason: SuppressReason): Promise<number> {
    return this.#change('add', await this.printsOf(numbers), reason);
  }

  /** @returns how many were on the list */
  async remove(numbers: readonly string[]): Promise<number> {
    return this.removePrints(await this.printsOf(numbers));
  }

  /** Removes numbers of which only the prints are known. */
  removePrints(prints: Buffer): Promise<number> {
    return this.#change('remove', prints, 'other');
  }

  async count(): Promise<number> {
    return Number((await translated(this.#redis.hget(this.#keys.suppress, 'count'))) ?? 0);
  }

  /** The prints of numbers, one after the other. */
  async printsOf(numbers: readonly string[]): Promise<Buffer> {
    const { bytes } = await this.#ownKey();
    return wholePrints(bytes, numbers.map(canonicalForm));
  }

  async #change(verb: 'add' | 'remove', prints: Buffer, reason: SuppressReason): Promise<number> {
    const { print } = await this.#ownKey();
    const { suppress, suppressHints } = this.#keys;
    const last = [verb, SUPPRESS_REASONS.indexOf(reason), hintChannel(this.#redis, suppressHints)];
    let changed = 0;
    for (let from = 0; from < prints.length; from += BYTES_AT_ONCE) {
      const some = prints.subarray(from, from + BYTES_AT_ONCE);
      const done = await translated(changeList(this.#redis, [suppress], [print, some, ...last]));
      if (done < 0) throw otherKey();
      changed += done;
    }
    return changed;
  }

  /** The key of the numbers, and its own print, by which a list of another one is known. */
  #ownKey() {
    this.#key ??= this.#readKey().catch((error: unknown) => {
      this.#key = undefined;
      throw error;
    });
    return this.#key;
  }

  async #readKey() {
    const { account } = this.#keys;
    // A secret of its own would make a second list, which workers do not read.
    if (!(await translated(hasKeyOfAccount(this.#redis, account, this.#sealing)))) throw otherKey();
    const text = await translated(readAccountSecret(this.#redis, account, this.#sealing));
    const bytes = Buffer.from(hkdfSync('sha256', text, '', 'notice-queue do not send v1', 32));
    return { bytes, print: createHash('sha256').update(bytes).digest('base64url').slice(0, 16) };
  }
}

const otherKey = () =>
  new NoticeQueueError(
    'NOT_POSSIBLE',
    'The do-not-send list is hashed with another key: set the PAYLOAD_KEY of the producers here, too.',
  );

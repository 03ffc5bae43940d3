import { NoticeQueueError } from '../contracts/errors.ts';
import type { SuppressReason } from '../contracts/suppression.ts';
import { WHOLE_BYTES } from '../number-index/number-prints.ts';
import type { RedisClient } from '../redis/connect.ts';
import { translated } from '../redis/failure.ts';
import type { Keys } from '../redis/keys.ts';
import {
  readValue,
  type DoNotSendList,
  type NumberToAdd,
  type Suppression,
} from './do-not-send.ts';
import { BUCKETS, FIELD_BYTES, readBuckets } from './scripts.ts';

/** Buckets per run of the script: some ten thousand numbers of ten million. */
const BUCKETS_AT_ONCE = 256;

/** Numbers that are added together. */
const NUMBERS_AT_ONCE = 2_000;

/** An entry of the list: of its number only the keyed hash is known. */
export interface StoredSuppression extends Suppression {
  readonly print: bigint;
}

/** All entries, by their prints. One that is added or removed meanwhile may be missing. */
export async function* storedSuppressions(
  redis: RedisClient,
  { suppress }: Pick<Keys, 'suppress'>,
): AsyncGenerator<StoredSuppression> {
  for (let first = 0; first < BUCKETS; first += BUCKETS_AT_ONCE) {
    const args = [first, first + BUCKETS_AT_ONCE];
    for (const { bucket, flat } of await translated(readBuckets(redis, [suppress], args))) {
      // Of the bucket's 18 bits the last two are in the field, too.
      const head = BigInt(bucket >> 2) << BigInt(8 * FIELD_BYTES);
      for (let at = 0; at + 1 < flat.length; at += 2) {
        const field = flat[at]?.readUIntBE(0, FIELD_BYTES) ?? 0;
        yield { print: head | BigInt(field), ...readValue(Number(flat[at + 1]?.toString())) };
      }
    }
  }
}

/** How many were added and removed so far. */
export interface Done {
  added: number;
  removed: number;
}

/** Bytes of Redis that an entry takes at most: in a short list. */
const ENTRY_BYTES = 130;

/**
 * Adds numbers as they come.
 *
 * @param room whether Redis has room for so many bytes more: what is kept free for notices stays free
 * @param done counts those that were not on the list
 * @throws NoticeQueueError REDIS_FULL
 */
export async function addAll(
  list: DoNotSendList,
  numbers: AsyncIterable<NumberToAdd>,
  room: { has(bytes: number): boolean | Promise<boolean> },
  done: Done,
): Promise<void> {
  const add = async (some: readonly string[], reason: SuppressReason) => {
    if (!(await room.has(some.length * ENTRY_BYTES))) throw new NoticeQueueError('REDIS_FULL');
    done.added += await list.add(some, reason);
  };
  const byReason = new Map<SuppressReason, string[]>();
  for await (const { number, reason } of numbers) {
    const some = byReason.get(reason) ?? [];
    byReason.set(reason, some);
    some.push(number);
    if (some.length < NUMBERS_AT_ONCE) continue;
    await add(some, reason);
    some.length = 0;
  }
  for (const [reason, rest] of byReason) await add(rest, reason);
}

/** The numbers of a file, as prints in ascending order, each once: eight bytes a number. */
export async function printsOfAll(
  list: DoNotSendList,
  numbers: AsyncIterable<NumberToAdd>,
): Promise<BigUint64Array> {
  const pieces: Buffer[] = [];
  let some: string[] = [];
  const take = async () => {
    pieces.push(await list.printsOf(some));
    some = [];
  };
  for await (const { number } of numbers) {
    some.push(number);
    if (some.length === NUMBERS_AT_ONCE) await take();
  }
  await take();
  const bytes = Buffer.concat(pieces).swap64();
  const sorted = new BigUint64Array(new Uint8Array(bytes).buffer).sort();
  let kept = 0;
  for (const print of sorted) if (kept === 0 || sorted[kept - 1] !== print) sorted[kept++] = print;
  return sorted.subarray(0, kept);
}

/** What would make the list equal to a file. */
export interface Difference {
  readonly toAdd: number;
  /** Prints of entries that the file does not have. */
  readonly toRemove: readonly bigint[];
}

/** Compares the list with a file. @param wanted of {@link printsOfAll} */
export async function differenceTo(
  redis: RedisClient,
  keys: Pick<Keys, 'suppress'>,
  wanted: BigUint64Array,
): Promise<Difference> {
  const toRemove: bigint[] = [];
  let same = 0;
  for await (const { print } of storedSuppressions(redis, keys)) {
    if (has(wanted, print)) same += 1;
    else toRemove.push(print);
  }
  return { toAdd: wanted.length - same, toRemove };
}

/** Removes entries. @param done counts those that there were */
export async function removeAll(
  list: DoNotSendList,
  prints: readonly bigint[],
  done: Done,
): Promise<void> {
  for (let from = 0; from < prints.length; from += NUMBERS_AT_ONCE) {
    const some = prints.slice(from, from + NUMBERS_AT_ONCE);
    const bytes = Buffer.alloc(some.length * WHOLE_BYTES);
    for (const [index, print] of some.entries()) bytes.writeBigUInt64BE(print, index * WHOLE_BYTES);
    done.removed += await list.removePrints(bytes);
  }
}

function has(sorted: BigUint64Array, wanted: bigint): boolean {
  let from = 0;
  let to = sorted.length - 1;
  while (from <= to) {
    const middle = (from + to) >>> 1;
    const found = sorted[middle] ?? 0n;
    if (found === wanted) return true;
    if (found < wanted) from = middle + 1;
    else to = middle - 1;
  }
  return false;
}

import { inflateRawSync } from 'node:zlib';
import type { Redis } from 'ioredis';
import { findKey, hashNumber } from '../../../src/number-index/number-key.ts';
import { maskNumber } from '../../../src/ops/mask-contact.ts';
import { readRedis } from '../../canary/support/read-redis.ts';

/** A form of a number, and the key that has it, without the namespace. */
export type Trace = readonly [form: string, key: string];

/**
 * Searches every key of a namespace, and what each holds, for a number in all its forms: as it is, with separators,
 * encoded, masked, hashed for the search index; compressed contacts too. Streams of BullMQ included.
 *
 * @param prints further texts: fingerprints in the ids of notices
 */
export async function tracesInRedis(
  redis: Redis,
  prefix: string,
  number: string,
  secret: string,
  prints: readonly string[] = [],
): Promise<Trace[]> {
  const written = await readRedis(redis, '', `{${prefix}:*`);
  return formsOf(number, secret, prints).flatMap(([form, bytes]) => {
    const found = written
      // Four bytes occur by chance elsewhere.
      .filter(({ key = '' }) => form !== 'fingerprint of a chunk' || key.endsWith(':find'))
      .filter((one) => [one.bytes, ...inflated(one.bytes)].some((value) => value.includes(bytes)))
      .map(({ key = '' }) => key.replace(/^\{[^}]*\}:/, ''));
    return [...new Set(found)].map((key): Trace => [form, key]);
  });
}

function formsOf(number: string, secret: string, prints: readonly string[]): [string, Buffer][] {
  const hash = hashNumber(findKey(secret), number);
  const base64 = [0, 1, 2].map((before): [string, Buffer] => {
    const text = Buffer.from(`${'"'.repeat(before)}${number}`).toString('base64');
    // Without what depends on the neighbours.
    return [`base64 at ${before}`, Buffer.from(text.slice(before === 0 ? 0 : 4, -4))];
  });
  return [
    ['plain', Buffer.from(number)],
    ['with hyphens', Buffer.from(number.replace(/^(\d{3})(\d{4})/, '$1-$2-'))],
    ['hex', Buffer.from(Buffer.from(number).toString('hex'))],
    ['masked', Buffer.from(maskNumber(number))],
    ['fingerprint of a chunk', hash.subarray(0, 4)],
    ['entry of a notice', hash.subarray(6, 12)],
    ...base64,
    ...prints.map((print): [string, Buffer] => ['fingerprint of a notice', Buffer.from(print)]),
  ];
}

/** The contacts of a chunk that is not encrypted. */
function inflated(value: Buffer): Buffer[] {
  if (value[0] !== 1) return [];
  try {
    return [inflateRawSync(value.subarray(1))];
  } catch {
    return [];
  }
}

import { inflateRawSync } from 'node:zlib';
import type { Redis } from 'ioredis';
import { findKey, hashNumber } from '../../../src/number-index/number-key.ts';
import { maskNumber } from '../../../src/ops/mask-contact.ts';

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
  const forms = formsOf(number, secret, prints);
  const keys: string[] = [];
  let cursor = '0';
  do {
    const [next, some] = await redis.scan(cursor, 'MATCH', `{${prefix}:*`, 'COUNT', 1_000);
    keys.push(...some);
    cursor = next;
  } while (cursor !== '0');
  const found: Trace[] = [];
  for (const key of new Set(keys)) {
    const values = [Buffer.from(key), ...(await valuesOf(redis, key))];
    const name = key.replace(/^\{[^}]*\}:/, '');
    for (const [form, bytes] of forms) {
      // Four bytes occur by chance elsewhere.
      if (form === 'fingerprint of a chunk' && !key.endsWith(':find')) continue;
      if (values.some((value) => value.includes(bytes))) found.push([form, name]);
    }
  }
  return found;
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

/** Everything that a key holds. */
async function valuesOf(redis: Redis, key: string): Promise<Buffer[]> {
  const ask = async (command: string, ...args: string[]) =>
    flat(await redis.callBuffer(command, key, ...args));
  switch (await redis.type(key)) {
    case 'string':
      return ask('GET');
    case 'hash':
      return (await ask('HGETALL')).flatMap((value) => [value, ...inflated(value)]);
    case 'list':
      return ask('LRANGE', '0', '-1');
    case 'set':
      return ask('SMEMBERS');
    case 'zset':
      return ask('ZRANGE', '0', '-1');
    case 'stream':
      return ask('XRANGE', '-', '+');
    default:
      return [];
  }
}

function flat(reply: unknown): Buffer[] {
  if (Buffer.isBuffer(reply)) return [reply];
  return Array.isArray(reply) ? reply.flatMap(flat) : [];
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

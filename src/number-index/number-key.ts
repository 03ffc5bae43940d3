import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';

/** The key under which numbers are hashed for the find index. */
export type FindKey = KeyObject;

/** Bytes of a number's hash: the first four are its print in a batch, the next eight its name among notices. */
const HASH_BYTES = 12;

/** @param text 32 bytes as base64 or hex, as FIND_KEY was checked to be */
export function findKey(text: string): FindKey {
  const secret = Buffer.from(text, text.length === 64 ? 'hex' : 'base64');
  return createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', 'notice-queue find v1', 32)));
}

/**
 * Stands for a number in the find index: HMAC-SHA256, cut. There are so few numbers that a hash
 * without a key would give them away.
 */
export function hashNumber(key: FindKey, number: string): Buffer {
  return createHmac('sha256', key).update(number).digest().subarray(0, HASH_BYTES);
}

import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';

/** The key for hashing numbers of the find index. */
export type FindKey = KeyObject;

/** Bytes of a number's hash: four for the fingerprint in a batch, eight for the index of notices. */
const HASH_BYTES = 12;

/** The key from FIND_KEY. @param text 32 bytes as base64 or hex, already validated */
export function findKey(text: string): FindKey {
  const secret = Buffer.from(text, text.length === 64 ? 'hex' : 'base64');
  return createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', 'notice-queue find v1', 32)));
}

/**
 * The hash of a number in the find index: truncated HMAC-SHA256. There are so few phone numbers that a
 * hash without a key could be reversed.
 */
export function hashNumber(key: FindKey, number: string): Buffer {
  return createHmac('sha256', key).update(number).digest().subarray(0, HASH_BYTES);
}

import { createHash } from 'node:crypto';
import type { Notice } from '../../../src/contracts/notice.ts';
import type { Canary } from './forms.ts';
import type { Hit, Written } from './search.ts';

const ALGORITHMS = ['sha256', 'sha1', 'md5', 'sha512'] as const;
/** Forty bits and more: fewer are found by chance. */
const HEX = 10;
const BASE64 = 8;
const RAW = 6;

/** A guess: what the start of a hash is when the guess is right. */
interface Guess {
  readonly of: string;
  readonly needles: readonly string[];
}

/**
 * Attacks what was written with all numbers that were sent, as does who computes the hash of every phone number:
 * hashes without a key, of the number in its usual spellings, of the contact and of the notice; their first forty
 * bits are enough.
 *
 * @param notices that were sent
 * @param more guesses than those of numbers and notices
 * @returns whose hash was found
 */
export function hashesIn(
  written: readonly Written[],
  numbers: readonly Canary[],
  notices: readonly Notice[],
  more: readonly Guess[],
): Hit[] {
  const guesses = [
    ...more,
    ...numbers.map(({ name, value }) => ({ of: name, needles: spellings(value).flatMap(hashes) })),
    ...notices.map((notice, index) => ({
      of: `notice ${index}`,
      needles: hashes(JSON.stringify(notice)),
    })),
  ];
  return written.flatMap(({ place, bytes }) => {
    const text = bytes.toString('latin1');
    return guesses.flatMap(({ of, needles }) => {
      const found = needles.find((needle) => text.includes(needle));
      const context = JSON.stringify(found);
      return found === undefined ? [] : [{ canary: of, form: 'hash', place, context }];
    });
  });
}

function spellings(number: string): string[] {
  const rest = number.slice(1);
  return [
    number,
    rest,
    `82${rest}`,
    `+82${rest}`,
    `${number.slice(0, 3)}-${number.slice(3, 7)}-${number.slice(7)}`,
    JSON.stringify(number),
    JSON.stringify({ contact: number }),
    JSON.stringify([{ contact: number }]),
  ];
}

function hashes(text: string): string[] {
  return ALGORITHMS.flatMap((algorithm) => {
    const digest = createHash(algorithm).update(text).digest();
    return [
      digest.toString('hex').slice(0, HEX),
      digest.toString('hex').slice(0, HEX).toUpperCase(),
      digest.toString('base64url').slice(0, BASE64),
      digest.toString('base64').slice(0, BASE64),
      digest.subarray(0, RAW).toString('latin1'),
    ];
  });
}

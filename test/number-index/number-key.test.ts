import { createHash, createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { findKey, hashNumber } from '../../src/number-index/number-key.ts';

const NUMBER = '01012345678';
const KEY = '42'.repeat(32);

describe('the hash of a number', () => {
  it('depends on the key, in hex or base64', () => {
    const hash = hashNumber(findKey(KEY), NUMBER);
    expect(hashNumber(findKey(Buffer.from(KEY, 'hex').toString('base64')), NUMBER)).toEqual(hash);
    expect(hashNumber(findKey('43'.repeat(32)), NUMBER)).not.toEqual(hash);
  });

  it('is none that can be computed without the key', () => {
    const hash = hashNumber(findKey(KEY), NUMBER).toString('hex');
    const guesses = [
      createHash('sha256').update(NUMBER),
      createHmac('sha256', '').update(NUMBER),
    ].map((one) => one.digest('hex'));
    expect(guesses.filter((guess) => guess.startsWith(hash))).toEqual([]);
  });
});

import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  encodeFingerprints,
  eraseFingerprints,
  FINGERPRINT_BYTES,
  searchChunks,
} from '../../src/number-index/chunk-fingerprints.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { testRedis } from '../support/redis.ts';

const redis = testRedis();

const hashOf = (print: number) => {
  const hash = Buffer.alloc(12);
  hash.writeUInt32BE(print);
  return hash;
};

describe('prints of chunks', () => {
  it('are sorted as numbers, four bytes each', () => {
    const prints = encodeFingerprints([
      hashOf(0xffff_ffff),
      hashOf(256),
      hashOf(1),
      hashOf(0x8000_0000),
    ]);
    expect(prints.toString('hex')).toBe('000000010000010080000000ffffffff');
    expect(encodeFingerprints([])).toHaveLength(0);
  });

  it('are found at any position, and no others', async () => {
    const key = keysOf(redis.freshPrefix(), 'default').batchFind('b');
    // Chunks of every small size, and one of full size, with prints at both ends of the range.
    const sizes = [...Array.from({ length: 20 }, (_, size) => size), 1_000];
    const chunks = sizes.map((size) =>
      Array.from({ length: size }, (_, index) =>
        index === 0 ? 0 : index === 1 ? 0xffff_ffff : randomBytes(4).readUInt32BE(),
      ),
    );
    for (const [chunk, prints] of chunks.entries()) {
      await redis.client.hset(key, chunk, encodeFingerprints(prints.map(hashOf)));
    }
    const all = new Set(chunks.flat());
    const asked = [...all, ...Array.from({ length: 50 }, () => randomBytes(4).readUInt32BE())];
    for (const print of asked) {
      const { hits, contacts, unindexed } = await searchChunks(
        redis.client,
        key,
        chunks.length,
        hashOf(print),
      );
      const expected = chunks.flatMap((prints, chunk) =>
        prints.includes(print) ? [{ chunk, size: prints.length }] : [],
      );
      expect(hits).toEqual(expected);
      expect([contacts, unindexed]).toEqual([chunks.flat().length, 0]);
    }
  });

  it('are searched with one command per 200 chunks; chunks without fingerprints are counted', async () => {
    const key = keysOf(redis.freshPrefix(), 'default').batchFind('b');
    await redis.client.hset(
      key,
      450,
      encodeFingerprints([hashOf(7)]),
      3,
      encodeFingerprints([hashOf(7)]),
    );
    const calls = async () => {
      const stats = await redis.client.info('commandstats');
      return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
    };
    // A server that is new to the script is sent its text first.
    await searchChunks(redis.client, key, 1, hashOf(7));
    const before = await calls();
    const search = await searchChunks(redis.client, key, 501, hashOf(7));
    expect(await calls()).toBe(before + 3);
    expect(search).toEqual({
      hits: [
        { chunk: 3, size: 1 },
        { chunk: 450, size: 1 },
      ],
      contacts: 2,
      unindexed: 499,
    });
    expect(FINGERPRINT_BYTES).toBe(4);
  });
});

describe('an erased fingerprint', () => {
  const bytes = (numbers: readonly number[]) => encodeFingerprints(numbers.map(hashOf));
  const [WANTED, LESS, MORE] = [0x0101_0101, 0x0001_0101, 0x0102_0202];

  it.each([
    ['between others', [1, WANTED, MORE], [1, 1, MORE]],
    ['the first', [WANTED, MORE], [MORE, MORE]],
    ['the last', [1, WANTED], [1, 1]],
    ['the only one', [WANTED], [0]],
    ['several times', [1, WANTED, WANTED, MORE], [1, 1, 1, MORE]],
    ['nothing else', [WANTED, WANTED], [0, 0]],
    ['behind its bytes at an odd place', [LESS, WANTED, MORE], [LESS, LESS, MORE]],
    ['only its bytes at an odd place', [LESS, MORE], [LESS, MORE]],
    ['not there', [1, 9], [1, 9]],
  ])('%s: the others stay, and so does their number', async (_, before, after) => {
    const key = keysOf(redis.freshPrefix(), 'default').batchFind('b');
    await redis.client.hset(key, 3, bytes(before));
    const erase = () => eraseFingerprints(redis.client, key, [{ chunk: 3 }], hashOf(WANTED));
    expect(await erase()).toBe(before.includes(WANTED) ? 1 : 0);
    expect(await redis.client.hgetBuffer(key, '3')).toEqual(bytes(after));
    expect(await erase()).toBe(0);
  });
});

import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { encodeFingerprints, searchChunks } from '../../src/number-index/chunk-fingerprints.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { testRedis } from '../support/redis.ts';

const redis = testRedis();

const hashOf = (print: number) => {
  const hash = Buffer.alloc(12);
  hash.writeUInt32BE(print);
  return hash;
};
const encode = (prints: readonly number[], rows = `2-${prints.length + 1}`) =>
  encodeFingerprints(prints.map(hashOf), rows);
const findKey = () => keysOf(redis.freshPrefix(), 'default').batchFind('b');

describe('prints of chunks', () => {
  it('are found at any place, and no others', async () => {
    const key = findKey();
    // Chunks of every small size, and one of full size, with prints at both ends of the range.
    const sizes = [...Array.from({ length: 20 }, (_, size) => size), 1_000];
    const chunks = sizes.map((size) =>
      Array.from({ length: size }, (_, index) =>
        index === 0 ? 0 : index === 1 ? 0xffff_ffff : randomBytes(4).readUInt32BE(),
      ),
    );
    for (const [chunk, prints] of chunks.entries()) {
      await redis.client.hset(key, chunk, encode(prints));
    }
    const all = new Set(chunks.flat());
    const asked = [...all, ...Array.from({ length: 50 }, () => randomBytes(4).readUInt32BE())];
    const search = (print: number) => searchChunks(redis.client, key, chunks.length, hashOf(print));
    const searches = await Promise.all(asked.map(search));
    for (const [index, print] of asked.entries()) {
      const hits = chunks.flatMap((prints, chunk) => {
        const place = prints.indexOf(print);
        return place < 0 ? [] : [{ chunk, place, rows: `2-${prints.length + 1}` }];
      });
      expect(searches[index]).toEqual({ hits, contacts: chunks.flat().length, unindexed: 0 });
    }
  });

  it('are searched with one command per 200 chunks; chunks without fingerprints are counted', async () => {
    const key = findKey();
    await redis.client.hset(key, 450, encode([7], '9'), 3, encode([7], '5'));
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
        { chunk: 3, place: 0, rows: '5' },
        { chunk: 450, place: 0, rows: '9' },
      ],
      contacts: 2,
      unindexed: 499,
    });
  });
});

const [WANTED, LESS, MORE] = [0x0101_0101, 0x0001_0101, 0x0102_0202];

it.each([
  ['between others', [1, WANTED, MORE], [1, 0, MORE]],
  ['several times', [WANTED, WANTED, 9, WANTED], [0, 0, 9, 0]],
  ['behind its bytes at an odd place', [LESS, WANTED, MORE], [LESS, 0, MORE]],
  ['only its bytes at an odd place', [LESS, MORE], [LESS, MORE]],
  ['not there', [1, 9], [1, 9]],
])(
  'an erased fingerprint, %s: the others stay, and so does their number',
  async (_, before, after) => {
    const key = findKey();
    await redis.client.hset(key, 3, encode(before));
    const erase = () => searchChunks(redis.client, key, 4, hashOf(WANTED), true);
    expect((await erase()).hits).toHaveLength(before.filter((print) => print === WANTED).length);
    expect(await redis.client.hgetBuffer(key, '3')).toEqual(encode(after));
    expect(await erase()).toMatchObject({ hits: [], contacts: before.length });
  },
);

import { describe, expect, it } from 'vitest';
import { encodeFingerprints } from '../../src/number-index/chunk-fingerprints.ts';
import type { FoundContact } from '../../src/search/find-answer.ts';
import { findInBatches } from '../../src/search/find-in-batches.ts';
import { findKey, hashNumber } from '../../src/number-index/number-key.ts';
import { Ledger } from '../../src/batch/ledger/ledger.ts';
import { sealingOf } from '../../src/payload/seal.ts';
import { allAccepted, allBack, allFailed } from '../../src/batch/ledger/settlement.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { testRedis } from '../support/redis.ts';
import { buildBatch, contacts, part, type BuiltBatch } from '../batch/support/built-batch.ts';
import { csvList, numberOf } from '../batch/support/csv-list.ts';
import { importWorld, listFile } from '../batch/support/import-world.ts';

const redis = testRedis();
const SECRET = 'f'.repeat(64);
const KEY = findKey(SECRET);

/** A batch of two chunks of five contacts, with its index. */
async function indexed(plan = {}): Promise<BuiltBatch & { readonly prefix: string }> {
  const prefix = redis.freshPrefix();
  const chunks = [contacts(5), contacts(5, 5)];
  const built = await buildBatch(redis.client, prefix, 'b', chunks, { plan });
  const keys = keysOf(prefix, 'default');
  for (const [chunk, list] of chunks.entries()) {
    const prints = encodeFingerprints(list.map(({ contact }) => hashNumber(KEY, contact)));
    await redis.client.hset(keys.batchFind('b'), chunk, prints);
  }
  return { ...built, prefix };
}

const nth = (index: number) => contacts(1, index)[0]?.contact ?? '';

async function find(prefix: string, number: string, payload = {}) {
  const keys = keysOf(prefix, 'default');
  const parts = {
    redis: redis.client,
    keys,
    ledger: new Ledger(redis.client, keys),
    sealing: sealingOf('default', payload),
  };
  return findInBatches(parts, number, hashNumber(KEY, number));
}

/** What became of the contact, in short; undefined where it is not found. */
async function stateOf(
  { prefix }: { prefix: string },
  index: number,
): Promise<Pick<FoundContact, 'states' | 'confirmed'> | undefined> {
  const [found, ...others] = (await find(prefix, nth(index))).found;
  expect(others).toEqual([]);
  return found && { states: found.states, confirmed: found.confirmed };
}

describe('a number in a batch', () => {
  it('waits, is being sent, and was accepted; what is gone is only probable', async () => {
    const batch = await indexed();
    expect((await find(batch.prefix, nth(7))).found).toEqual([
      {
        batch: 'b',
        template: 'T',
        chunk: 1,
        states: ['pending'],
        confirmed: true,
        at: (await batch.read()).begunAt,
      },
    ]);
    await batch.claim(1);
    expect(await stateOf(batch, 7)).toEqual({ states: ['pending'], confirmed: true });
    await batch.settle(1, allAccepted());
    expect(await stateOf(batch, 7)).toEqual({ states: ['accepted'], confirmed: false });
    expect(await stateOf(batch, 2)).toEqual({ states: ['pending'], confirmed: true });
    expect((await find(batch.prefix, nth(99))).found).toEqual([]);
  });

  it.each(['rejected', 'unknown', 'expired'] as const)('was %s with its chunk', async (state) => {
    const batch = await indexed();
    await batch.settle(0, allFailed(state, 'SOME_CODE', 'message'));
    const [found] = (await find(batch.prefix, nth(2))).found;
    expect(found).toMatchObject({ states: [state], confirmed: true, code: 'SOME_CODE', chunk: 0 });
    expect(found?.at).toBeGreaterThan(0);
  });

  it('was rejected alone, while the others of its chunk were accepted', async () => {
    const batch = await indexed();
    await batch.settle(0, {
      accepted: 3,
      failed: [
        await part('rejected', 'A', contacts(1, 2)),
        await part('unknown', 'B', contacts(1, 3)),
      ],
    });
    expect(await stateOf(batch, 2)).toEqual({ states: ['rejected'], confirmed: true });
    expect(await stateOf(batch, 3)).toEqual({ states: ['unknown'], confirmed: true });
    expect(await stateOf(batch, 0)).toEqual({ states: ['accepted'], confirmed: false });
  });

  it('is followed through redrives', async () => {
    const batch = await indexed();
    await batch.settle(0, {
      accepted: 3,
      failed: [await part('rejected', 'A', contacts(2, 3))],
    });
    expect(await batch.ledger.redrive('b', '2', 'rejected')).toBe('redriven');
    expect((await find(batch.prefix, nth(4))).found).toMatchObject([
      { chunk: 4, states: ['pending'], confirmed: true },
    ]);
    await batch.settle(4, {
      accepted: 1,
      failed: [await part('rejected', 'C', contacts(1, 4))],
    });
    expect((await find(batch.prefix, nth(4))).found).toMatchObject([
      { chunk: 5, states: ['rejected'], confirmed: true, code: 'C' },
    ]);
    expect(await stateOf(batch, 3)).toEqual({ states: ['accepted'], confirmed: false });
    expect((await find(batch.prefix, nth(3))).unindexed).toBe(0);
  });

  it('was decided on by a person', async () => {
    const batch = await indexed();
    await batch.settle(0, allFailed('unknown', 'C', ''));
    await batch.settle(1, {
      accepted: 3,
      failed: [await part('unknown', 'C', contacts(2, 8))],
    });
    await batch.ledger.resolve('b', '0', 'cancelled');
    await batch.ledger.resolve('b', '2', 'cancelled');
    expect(await stateOf(batch, 1)).toEqual({ states: ['cancelled'], confirmed: false });
    // It is no longer known which of the chunk's contacts these were.
    expect(await stateOf(batch, 8)).toEqual({
      states: ['cancelled', 'accepted'],
      confirmed: false,
    });
  });

  it('was in a batch that was cancelled: not sent, or possibly sent', async () => {
    const batch = await indexed();
    await batch.settle(1, allBack(true));
    await batch.ledger.control('b', 'cancel');
    expect(await stateOf(batch, 0)).toEqual({ states: ['cancelled'], confirmed: true });
    expect(await stateOf(batch, 9)).toEqual({ states: ['unknown'], confirmed: true });
  });

  it('is another one whose print is the same: all of the chunk is there, and it is not', async () => {
    const batch = await indexed();
    const keys = keysOf(batch.prefix, 'default');
    const list = [nth(99), ...contacts(4).map(({ contact }) => contact)];
    const prints = encodeFingerprints(list.map((number) => hashNumber(KEY, number)));
    await redis.client.hset(keys.batchFind('b'), 0, prints);
    const search = await find(batch.prefix, nth(99));
    expect([search.found, search.contacts]).toEqual([[], 10]);
  });

  it('cannot be searched in chunks without an index, which is reported', async () => {
    const batch = await indexed();
    await redis.client.hdel(keysOf(batch.prefix, 'default').batchFind('b'), '1');
    const search = await find(batch.prefix, nth(7));
    expect(search).toEqual({ found: [], batches: 1, contacts: 5, unindexed: 1 });
  });
});

describe('an import', () => {
  it('with a key: every number is found, sealed contacts are opened, and the index ends by itself', async () => {
    const payloadKey = 'a'.repeat(64);
    const world = importWorld(redis, { findKey: SECRET, keepFailedMs: 600_000, payloadKey });
    await world.import(listFile(csvList(250)), { batchId: 'sealed' });
    for (const index of [0, 99, 100, 249]) {
      const { found, contacts, unindexed } = await find(world.prefix, numberOf(index), {
        payloadKey,
      });
      expect(found).toMatchObject([
        { batch: 'sealed', chunk: Math.floor(index / 100), states: ['pending'], confirmed: true },
      ]);
      expect([contacts, unindexed]).toEqual([250, 0]);
    }
    // Without the payload's key it is known where it waits, and not confirmed.
    expect((await find(world.prefix, numberOf(0))).found).toMatchObject([
      { states: ['pending'], confirmed: false },
    ]);
    const ttl = await redis.client.pttl(world.keys.batchFind('sealed'));
    expect(ttl).toBeGreaterThan(0);
    expect(ttl).toBeLessThanOrEqual(600_000);
    const stored = await redis.client.hvals(world.keys.batchFind('sealed'));
    expect(stored.join('')).not.toContain(numberOf(0));
  });

  it('without a key: nothing is written to find by', async () => {
    const world = importWorld(redis);
    await world.import(listFile(csvList(250)), { batchId: 'plain' });
    expect(await redis.client.exists(world.keys.batchFind('plain'))).toBe(0);
    expect(await find(world.prefix, numberOf(0))).toEqual({
      found: [],
      batches: 1,
      contacts: 0,
      unindexed: 3,
    });
  });

  it('costs Redis some four bytes a contact', async () => {
    const world = importWorld(redis, { findKey: SECRET });
    await world.import(listFile(csvList(20_000)), { batchId: 'big', chunkSize: 1_000 });
    const bytes = Number(
      await redis.client.memory('USAGE', world.keys.batchFind('big'), 'SAMPLES', 0),
    );
    expect(bytes / 20_000).toBeGreaterThan(4);
    expect(bytes / 20_000).toBeLessThan(6.5);
  });
});

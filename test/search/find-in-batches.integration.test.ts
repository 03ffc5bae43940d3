import { expect, describe, it } from 'vitest';
import { Ledger } from '../../src/batch/ledger/ledger.ts';
import { allBack, allFailed, type Settlement } from '../../src/batch/ledger/settlement.ts';
import { encodeFingerprints } from '../../src/number-index/chunk-fingerprints.ts';
import { findKey, hashNumber } from '../../src/number-index/number-key.ts';
import { decodeContacts, encodeContacts, rowsOfPayload } from '../../src/payload/chunk-payload.ts';
import { sealingOf } from '../../src/payload/seal.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { findInBatches } from '../../src/search/find-in-batches.ts';
import { csvList, numberOf } from '../batch/support/csv-list.ts';
import { importWorld, listFile } from '../batch/support/import-world.ts';
import { testRedis } from '../support/redis.ts';

const redis = testRedis();
const SECRET = 'f'.repeat(64);
const KEY = findKey(SECRET);

/** A list of two chunks of five contacts, in rows 2 to 11, with its index; its sends the test makes up. */
async function indexed() {
  const { prefix, keys, ledger, ...world } = importWorld(redis, { findKey: SECRET });
  await world.import(listFile(csvList(10)), { batchId: 'b', chunkSize: 5 });
  const claim = async (chunk: number) => {
    const lock = { key: keys.chunkLock(`c-b-${chunk}`), token: 'worker' };
    await redis.client.set(lock.key, lock.token);
    expect(await ledger.claim('b', chunk, 'a', lock)).toMatchObject({ kind: 'send' });
  };
  const payload = async (name: number) => (await ledger.payload('b', `${name}`)) ?? Buffer.alloc(0);
  const settle = async (chunk: number, settlement: Settlement) => {
    await claim(chunk);
    expect(await ledger.settle('b', chunk, 'a', settlement)).toBe('settled');
  };
  const accept = async (chunk: number) => {
    const rows = await rowsOfPayload(await payload(chunk));
    await settle(chunk, { kind: 'accepted', rows, traceId: 'trace-1' });
  };
  /** @returns the chunks that it becomes */
  const halve = async (chunk: number, first: number) => {
    const contacts = await decodeContacts(await payload(chunk));
    const halves = [contacts.slice(0, first), contacts.slice(first)] as const;
    const [one, other] = await Promise.all(halves.map((half) => encodeContacts(half)));
    await claim(chunk);
    await ledger.halve('b', chunk, 'a', first, [one ?? Buffer.alloc(0), other ?? Buffer.alloc(0)]);
    const { chunks = 0 } = (await ledger.read('b')) ?? {};
    return [chunks - 2, chunks - 1] as const;
  };
  const resolve = async (name: number, as: 'accepted' | 'cancelled') => {
    const rows = await rowsOfPayload(await payload(name));
    expect(await ledger.resolve('b', `${name}`, as, 'unknown', rows)).toBe(true);
  };
  /** What is found of the contact with this index, without what is the same for all. */
  const found = async (index: number) =>
    (await find(prefix, numberOf(index))).found.map(
      ({ chunk, row, states, confirmed, at: since, code }) => {
        return { chunk, row, states, confirmed, at: since, code };
      },
    );
  return { prefix, keys, ledger, claim, settle, accept, halve, resolve, found };
}

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

const at: unknown = expect.any(Number);

describe('a number in a batch', () => {
  it('waits, is being sent, and was accepted: its row is known, what is deleted is only probable', async () => {
    const list = await indexed();
    const { begunAt } = (await list.ledger.read('b')) ?? {};
    expect((await find(list.prefix, numberOf(7))).found).toEqual([
      {
        batch: 'b',
        template: 'T',
        chunk: 1,
        row: 9,
        states: ['pending'],
        confirmed: true,
        at: begunAt,
      },
    ]);
    await list.accept(1);
    expect(await list.found(7)).toEqual([
      { chunk: 1, row: 9, states: ['accepted'], confirmed: false, at },
    ]);
    await list.claim(0);
    expect(await list.found(2)).toMatchObject([{ row: 4, states: ['pending'], confirmed: true }]);
    expect(await list.found(99)).toEqual([]);
  });

  it.each(['rejected', 'unknown', 'expired'] as const)('was %s with its chunk', async (state) => {
    const list = await indexed();
    await list.settle(0, allFailed(state, 'SOME_CODE', 'message'));
    expect(await list.found(2)).toEqual([
      { chunk: 0, row: 4, states: [state], confirmed: true, code: 'SOME_CODE', at },
    ]);
  });

  it('is followed through halves and what is sent again', async () => {
    const list = await indexed();
    const [one, other] = await list.halve(0, 2);
    await list.settle(one, allFailed('rejected', 'A', ''));
    await list.accept(other);
    expect(await list.found(1)).toMatchObject([
      { chunk: one, row: 3, states: ['rejected'], code: 'A' },
    ]);
    expect(await list.found(3)).toMatchObject([{ row: 5, states: ['accepted'], confirmed: false }]);
    expect(await list.ledger.redrive('b', `${one}`, 'rejected')).toBe('redriven');
    const again = other + 1;
    expect(await list.found(1)).toMatchObject([
      { chunk: again, states: ['pending'], confirmed: true },
    ]);
    const [accepted, refused] = await list.halve(again, 1);
    await list.accept(accepted);
    await list.settle(refused, allFailed('rejected', 'C', ''));
    expect(await list.found(0)).toMatchObject([{ row: 2, states: ['accepted'], confirmed: false }]);
    expect(await list.found(1)).toMatchObject([
      { chunk: refused, states: ['rejected'], code: 'C' },
    ]);
    expect((await find(list.prefix, numberOf(1))).unindexed).toBe(0);
  });

  it('was decided on by a person', async () => {
    const list = await indexed();
    await list.settle(0, allFailed('unknown', 'C', ''));
    await list.resolve(0, 'cancelled');
    const [one, other] = await list.halve(1, 2);
    await list.settle(one, allFailed('unknown', 'C', ''));
    await list.resolve(one, 'accepted');
    await list.settle(other, allFailed('unknown', 'C', ''));
    expect(await list.found(1)).toMatchObject([{ states: ['cancelled'], confirmed: false }]);
    expect(await list.found(6)).toMatchObject([{ states: ['accepted'], confirmed: false }]);
    expect(await list.found(9)).toMatchObject([{ states: ['unknown'], confirmed: true }]);
  });

  it('was in a batch that was cancelled: not sent, or possibly sent', async () => {
    const list = await indexed();
    await list.settle(1, allBack(true));
    await list.ledger.control('b', 'cancel');
    expect(await list.found(0)).toMatchObject([{ states: ['cancelled'], confirmed: true }]);
    expect(await list.found(9)).toMatchObject([{ states: ['unknown'], confirmed: true }]);
  });

  it('is another one with the same print: the contact of its row has another number', async () => {
    const list = await indexed();
    const numbers = [99, 1, 2, 3, 4].map(numberOf);
    const prints = encodeFingerprints(
      numbers.map((one) => hashNumber(KEY, one)),
      '2-6',
    );
    await redis.client.hset(list.keys.batchFind('b'), 0, prints);
    const search = await find(list.prefix, numberOf(99));
    expect([search.found, search.contacts]).toEqual([[], 10]);
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

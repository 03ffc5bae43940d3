import { describe, expect, it } from 'vitest';
import { groupFailures } from '../../../src/batch/failures/failures.ts';
import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import { NoticeQueueError } from '../../../src/contracts/errors.ts';
import { allFailed } from '../../../src/batch/ledger/settlement.ts';
import { testRedis } from '../../support/redis.ts';
import { openBatch, PLAN, RETENTION_MS, type BatchBench } from '../support/batch-bench.ts';

const redis = testRedis();

it('reads the states of any part of the list, odd or even', async () => {
  const bench = await openBatch(redis, {}, [10, 10, 10, 10, 10]);
  await bench.claim(1);
  await bench.claim(2, 'dead');
  await bench.claim(2);
  await bench.settleNew(4, allFailed('rejected', 'C', ''));
  const all = 'pending sending sending-possibly-sent pending settled none none'.split(' ');
  for (let first = 0; first < all.length; first += 1) {
    for (let end = first; end <= all.length; end += 1) {
      expect(await bench.ledger.states(bench.id, first, end)).toEqual(all.slice(first, end));
    }
  }
  expect(await bench.ledger.states(bench.id, 3, 1)).toEqual([]);
});

it('lists the newest first, as many as asked for, and forgets what is gone', async () => {
  const bench = await openBatch(redis, {}, [], false);
  const { ledger, keys } = bench;
  for (const [index, id] of ['old', 'mid', 'new'].entries()) {
    await ledger.start(id, PLAN, 'print', RETENTION_MS);
    await redis.client.zadd(keys.batches, String(index), id);
  }
  await redis.client.zrem(keys.batches, 'b-1');
  const ids = async (limit: number) => (await ledger.list(limit)).map(({ id }) => id);
  expect(await ids(2)).toEqual(['new', 'mid']);
  await redis.client.del(keys.batch('new').record);
  expect(await ids(2)).toEqual(['mid', 'old']);
  expect(await redis.client.zrange(keys.batches, '0', '-1')).toEqual(['old', 'mid']);
});

it('reads failures page by page, each once', async () => {
  const bench = await openBatch(redis);
  const stored = { state: 'rejected', size: 1, code: 'C', message: '', at: 1 };
  const names = Array.from({ length: 1_500 }, (_, chunk) => String(chunk));
  const fields = names.flatMap((name) => [name, JSON.stringify(stored)]);
  await redis.client.hset(bench.keys.batch(bench.id).failures, ...fields);
  const found = await bench.failures();
  expect(found.map(({ name }) => name).sort()).toEqual(names.sort());
  expect(found[0]).toEqual({ name: '0', ...stored });
});

it('fails with an error of ours, and nothing of the command in it', async () => {
  const bench = await openBatch(redis, {}, [10]);
  const client = redis.connect();
  const ledger = new Ledger(client, bench.keys);
  expect(await ledger.unsent()).toBe(10);
  client.disconnect();
  const calls = [
    () => ledger.read(bench.id),
    () => ledger.claim(bench.id, 0, 'nonce-1', { key: 'k', token: 't' }),
    () =>
      ledger.store(bench.id, { chunk: 1, size: 1, rows: 1, payload: Buffer.from('01012345678') }),
  ];
  for (const call of calls) {
    const error: unknown = await call().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(NoticeQueueError);
    expect(error).toMatchObject({ code: 'QUEUE_UNAVAILABLE' });
    expect(String((error as Error).stack)).not.toMatch(/01012345678|nonce-1/);
  }
});

it('reports QUEUE_REFUSED if another program uses its keys', async () => {
  const bench = await openBatch(redis);
  await redis.client.set(bench.keys.batch('b-2').record, 'theirs');
  await expect(bench.ledger.read('b-2')).rejects.toMatchObject({ code: 'QUEUE_REFUSED' });
});

it('a record that others have changed has no more chunks than have a state', async () => {
  const bench = await openBatch(redis, {}, [10, 10, 10]);
  const { ledger, id } = bench;
  const { record } = bench.keys.batch(id);
  await redis.client.hset(record, { chunks: 1e12, queued: -1e12 });
  const next = await ledger.chunksWithoutJob(id, 500, 0);
  expect(next).toMatchObject({ first: 0, end: 4 });
  if (next !== undefined) await redis.client.hset(record, 'queued', next.end);
  expect(await ledger.chunksWithoutJob(id, 500, 0)).toBeUndefined();
  expect(await ledger.read(id)).toMatchObject({ chunks: 4, queued: 4 });
  await redis.client.hset(record, { chunks: 'Infinity', queued: 'x' });
  expect(await ledger.read(id)).toMatchObject({ chunks: 0, queued: 0 });
});

it.each(['{', '[]', '{"contacts":"7"}'])(
  'what cannot be read hides nothing else: %s',
  async (text) => {
    const bench = await openBatch(redis, {}, [7, 3, 5]);
    const { ledger, id } = bench;
    const { record, failures, groups } = bench.keys.batch(id);
    await bench.settleNew(0, allFailed('rejected', 'CREDIT', ''));
    await bench.settleNew(1, allFailed('rejected', 'BLOCKED', ''));
    await redis.client.hset(record, 'reading', text);
    await redis.client.hset(failures, '1', text);
    await redis.client.hset(groups, { 'rejected BLOCKED': text, 'rejected OTHER': text });
    expect(await bench.batch()).not.toHaveProperty('reading');
    expect(await ledger.list(5)).toHaveLength(1);
    expect(await groupFailures(ledger, await bench.batch())).toMatchObject([
      { state: 'rejected', code: 'CREDIT', contacts: 7 },
      { state: 'rejected', code: 'RECORD_UNREADABLE', contacts: 3 },
    ]);
    const unreadable = { name: '1', state: 'unknown', code: 'RECORD_UNREADABLE' };
    expect(await bench.failures()).toMatchObject([{ name: '0', code: 'CREDIT' }, unreadable]);
    expect(await ledger.failure(id, '1')).toMatchObject(unreadable);
    expect(await ledger.redrive(id, '1', 'unknown')).toBe('known');
    expect(await ledger.resolve(id, '1', 'accepted')).toBe(false);
    await bench.settleNew(2, allFailed('rejected', 'BLOCKED', ''));
    expect(await ledger.failureSums(id)).toContainEqual(
      expect.objectContaining({ code: 'BLOCKED', contacts: 5 }),
    );
  },
);

/** A finished batch with seven unknown contacts and three rejected ones. */
async function inDoubt(): Promise<BatchBench> {
  const bench = await openBatch(redis, {}, [7, 3]);
  await bench.settleNew(0, allFailed('unknown', 'HTTP_503', ''));
  await bench.settleNew(1, allFailed('rejected', 'CREDIT', ''));
  expect(await bench.counts()).toEqual({ unknown: 7, rejected: 3 });
  return bench;
}

const found = async ({ ledger }: BatchBench) => {
  const ids: string[] = [];
  for await (const { id } of ledger.withUnknown()) ids.push(id);
  return ids;
};

describe('the unknown contacts of all batches', () => {
  it('do not count a batch from the end of its retention on, nor for another one with its id', async () => {
    const bench = await inDoubt();
    const { keys, ledger, id } = bench;
    await redis.client.del(...Object.values(keys.batch(id)));
    expect(await ledger.start(id, PLAN, 'print', RETENTION_MS)).toBe('started');
    expect(await ledger.unknownContacts()).toBe(0);
    await redis.client.zadd(keys.unknownContacts, 7, 'deleted');
    expect([await ledger.unknownContacts(), await found(bench)]).toEqual([0, []]);
    expect(await redis.client.exists(keys.unknownContacts)).toBe(0);
  });

  it('of several batches are found the newest first', async () => {
    const bench = await inDoubt();
    const { record } = bench.keys.batch('b-2');
    await redis.client.hset(record, { id: 'b-2', phase: 'finished', unknown: 1 });
    await redis.client.zadd(bench.keys.batches, Date.now() + 1_000, 'b-2');
    await redis.client.zadd(bench.keys.unknownContacts, 1, 'b-2');
    expect(await bench.ledger.unknownContacts()).toBe(8);
    expect(await found(bench)).toEqual(['b-2', 'b-1']);
  });
});

it('the sums of failures stay right where there were more codes than have one of their own', async () => {
  const bench = await openBatch(redis, {}, [7, 3]);
  const { groups } = bench.keys.batch(bench.id);
  const many = Array.from({ length: 1_000 }, (_, code) => [`rejected ${code}`, '{}']).flat();
  await redis.client.hset(groups, ...many);
  await bench.settleNew(0, allFailed('rejected', 'CREDIT', ''));
  await redis.client.hdel(groups, ...many.filter((_, index) => index % 2 === 0));
  await bench.settleNew(1, allFailed('rejected', 'CREDIT', ''));
  await bench.ledger.redrive(bench.id, '0', 'rejected', '', false);
  const sums = await bench.ledger.failureSums(bench.id);
  expect(sums.filter(({ contacts }) => contacts > 0)).toMatchObject([
    { code: 'CREDIT', contacts: 3 },
  ]);
});

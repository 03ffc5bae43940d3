import { describe, expect, it } from 'vitest';
import { allFailed } from '../../../src/batch/ledger/settlement.ts';
import { testRedis } from '../../support/redis.ts';
import { openBatch, PLAN, RETENTION_MS, type BatchBench } from '../support/batch-bench.ts';

const redis = testRedis();

/** A finished batch with seven unknown contacts and three rejected ones. */
async function inDoubt(): Promise<BatchBench> {
  const bench = await openBatch(redis, {}, [7, 3]);
  await bench.claim(0);
  await bench.settle(0, allFailed('unknown', 'HTTP_503', ''));
  await bench.claim(1);
  await bench.settle(1, allFailed('rejected', 'CREDIT', ''));
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
  const failChunk = async (chunk: number) => {
    await bench.claim(chunk);
    await bench.settle(chunk, allFailed('rejected', 'CREDIT', ''));
  };
  await failChunk(0);
  await redis.client.hdel(groups, ...many.filter((_, index) => index % 2 === 0));
  await failChunk(1);
  await bench.ledger.redrive(bench.id, '0', 'rejected', '', false);
  const sums = await bench.ledger.failureSums(bench.id);
  expect(sums.filter(({ contacts }) => contacts > 0)).toMatchObject([
    { code: 'CREDIT', contacts: 3 },
  ]);
});

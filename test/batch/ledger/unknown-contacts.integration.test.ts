import { describe, expect, it } from 'vitest';
import { allAccepted, allFailed } from '../../../src/batch/ledger/settlement.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { openBatch, PLAN, RETENTION_MS, type BatchBench } from '../support/batch-bench.ts';

const redis = testRedis();

/** A finished batch with seven unknown contacts and three rejected ones. */
async function inDoubt(): Promise<BatchBench> {
  const bench = await openBatch(redis, {}, [7, 3]);
  await bench.claim(0);
  await bench.settle(0, allFailed(7, 'unknown', 'HTTP_503', ''));
  await bench.claim(1);
  await bench.settle(1, allFailed(3, 'rejected', 'CREDIT', ''));
  expect(await bench.counts()).toEqual({ unknown: 7, rejected: 3 });
  return bench;
}

const found = async ({ ledger }: BatchBench) => {
  const ids: string[] = [];
  for await (const { id } of ledger.withUnknown()) ids.push(id);
  return ids;
};

/** Ends the retention of a batch now, in the way in which Redis does it. */
async function expire({ keys, id }: BatchBench): Promise<void> {
  const at = Date.now() + 50;
  await redis.client.zadd(keys.unknownContacts.until, at, id);
  for (const key of Object.values(keys.batch(id))) {
    await redis.client.pexpireat(key, at);
  }
  const gone = async () => (await redis.client.exists(keys.batch(id).record)) === 0;
  await until(gone, { what: 'the end of the retention' });
}

describe('the unknown contacts of all batches', () => {
  it('do not count a batch from the end of its retention on', async () => {
    const bench = await inDoubt();
    await expire(bench);
    expect(await bench.ledger.unknownContacts()).toBe(0);
    expect(await found(bench)).toEqual([]);
    await bench.ledger.sumUpUnknown(bench.id);
    expect(await bench.ledger.idsWithUnknown()).toEqual([]);
    expect(await redis.client.hgetall(bench.keys.unknownContacts.byBatch)).toEqual({ '': '0' });
  });

  it('follow the retention of the batch, which a redrive ends and its end begins anew', async () => {
    const bench = await inDoubt();
    const kept = async () =>
      Number(await redis.client.zscore(bench.keys.unknownContacts.until, 'b-1'));
    const { finishedAt } = await bench.batch();
    expect(Math.abs((await kept()) - finishedAt - RETENTION_MS)).toBeLessThan(1_000);
    await bench.ledger.redrive(bench.id, '1', 'rejected');
    expect(await redis.client.zscore(bench.keys.unknownContacts.until, 'b-1')).toBe('inf');
    await bench.claim(2);
    await bench.settle(2, allAccepted(3));
    expect(Math.abs((await kept()) - Date.now() - RETENTION_MS)).toBeLessThan(5_000);
    expect(await bench.counts()).toEqual({ unknown: 7, accepted: 3 });
  });

  it('do not count those of an earlier batch with the same id', async () => {
    const bench = await inDoubt();
    await expire(bench);
    expect(await bench.ledger.start(bench.id, PLAN, 'print', RETENTION_MS)).toBe('started');
    expect(await bench.ledger.unknownContacts()).toBe(0);
    expect(await bench.ledger.idsWithUnknown()).toEqual([]);
  });

  it('of several batches are found the newest first', async () => {
    const bench = await inDoubt();
    const { record } = bench.keys.batch('b-2');
    await redis.client.hset(record, { id: 'b-2', phase: 'finished', unknown: 1 });
    await redis.client.zadd(bench.keys.batches, Date.now() + 1_000, 'b-2');
    await bench.ledger.sumUpUnknown('b-2');
    expect(await bench.ledger.unknownContacts()).toBe(8);
    expect(await found(bench)).toEqual(['b-2', 'b-1']);
  });
});

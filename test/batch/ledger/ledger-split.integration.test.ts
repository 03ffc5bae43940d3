import { hintChannel } from '../../../src/redis/hints.ts';
import { describe, expect, it } from 'vitest';
import type { BatchPlan } from '../../../src/batch/ledger/batch-record.ts';
import {
  allAccepted,
  allBack,
  allFailed,
  type Settlement,
} from '../../../src/batch/ledger/settlement.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { AT_MOST_ONCE, eventNames, openBatch } from '../support/batch-bench.ts';

const redis = testRedis();

describe('contacts of a chunk that were not sent, beside some that possibly were', () => {
  const SPLIT: Settlement = {
    accepted: 2,
    rest: { size: 3, payload: Buffer.from('possibly sent'), possiblySent: true },
    split: [{ size: 5, payload: Buffer.from('not sent') }],
    failed: [],
  };

  async function splitOne(plan: Partial<BatchPlan> = {}, imported = true) {
    const bench = await openBatch(redis, plan, [10, 10], imported);
    await bench.queue();
    await bench.claim(0);
    return bench;
  }

  it('become a chunk with a history of its own, which gets a job', async () => {
    const bench = await splitOne();
    expect(await bench.settle(0, SPLIT)).toBe('settled');
    expect(await bench.settle(0, SPLIT)).toBe('known');
    expect(await bench.counts()).toEqual({ pending: 18, accepted: 2 });
    expect(await bench.state(0)).toBe('pending-possibly-sent');
    expect(await bench.state(2)).toBe('pending');
    expect(await bench.queue()).toEqual([2]);
    expect(await bench.claim(2)).toMatchObject({ size: 5, possiblySent: 0 });
    expect(await bench.payload(2)).toBe('not sent');
    await bench.settle(2, allFailed(5, 'rejected', 'C', ''));
    expect(await bench.claim(0, 'b')).toMatchObject({ size: 3, possiblySent: 1 });
    await bench.settle(0, allFailed(3, 'rejected', 'C', ''), 'b');
    expect(await bench.counts()).toEqual({
      pending: 10,
      accepted: 2,
      rejected: 5,
      unknown: 3,
    });
  });

  it('do so under at-most-once, too: the others are unknown', async () => {
    const bench = await splitOne(AT_MOST_ONCE);
    await bench.settle(0, SPLIT);
    expect(await bench.counts()).toEqual({ pending: 15, accepted: 2, unknown: 3 });
    expect(await bench.state(0)).toBe('settled');
    expect(await bench.claim(2)).toMatchObject({ size: 5, possiblySent: 0 });
  });

  it('are cancelled where the batch was cancelled meanwhile', async () => {
    const bench = await splitOne();
    await bench.ledger.control(bench.id, 'cancel');
    await bench.settle(0, SPLIT);
    expect(await bench.counts()).toEqual({ accepted: 2, unknown: 3, cancelled: 15 });
    expect(await bench.batch()).toMatchObject({ phase: 'cancelled', chunks: 3 });
    expect((await eventNames(bench)).at(-1)).toBe('batch.finished');
  });

  it('do not disturb the import that stores the chunks of the list meanwhile', async () => {
    const bench = await splitOne({}, false);
    await bench.settle(0, SPLIT);
    expect(await bench.batch()).toMatchObject({ chunks: 3, chunksOfList: 2 });
    const store = (chunk: number) =>
      bench.ledger.store(bench.id, { chunk, size: 10, rows: 30, payload: Buffer.from('third') });
    expect(await store(1)).toBe('known');
    expect(await store(3)).toBe('gone');
    expect(await store(2)).toBe('stored');
    expect(await store(2)).toBe('known');
    expect(await bench.payload(3)).toBe('third');
    expect(await bench.counts()).toEqual({ pending: 28, accepted: 2 });
  });

  it('are found again by the search index', async () => {
    const bench = await splitOne();
    const find = bench.keys.batchFind(bench.id);
    await redis.client.hset(find, '0', 'prints');
    await bench.settle(0, SPLIT);
    expect(await redis.client.hgetall(find)).toEqual({ '0': 'prints', '>0.1': '2', '2': '' });
  });

  it('keep the history of the chunk before the attempt, which the others have once more', async () => {
    const bench = await splitOne();
    await bench.settle(0, allBack(10, true));
    await bench.claim(0, 'b');
    await bench.settle(0, SPLIT, 'b');
    expect(await bench.state(2)).toBe('pending-possibly-sent');
    expect(await bench.claim(0, 'c')).toMatchObject({ size: 3, possiblySent: 2 });
    expect(await bench.claim(2, 'd')).toMatchObject({ size: 5, possiblySent: 1 });
    await bench.settle(2, allFailed(5, 'rejected', 'C', ''), 'd');
    expect(await bench.counts()).toMatchObject({ accepted: 2, unknown: 5 });
  });
});

describe('a refused chunk that is at fault', () => {
  const HALVES = [Buffer.from('first'), Buffer.from('second')] as const;

  async function claimOne(plan: Partial<BatchPlan> = {}, sizes: readonly number[] = [10, 10]) {
    const bench = await openBatch(redis, plan, sizes);
    await bench.queue();
    await bench.claim(0);
    const halve = (chunk: number, first: number, nonce = 'a') =>
      bench.ledger.halve(bench.id, chunk, nonce, first, HALVES);
    return { ...bench, halve };
  }

  it('becomes two chunks, which get jobs, once', async () => {
    const bench = await claimOne();
    const hints = redis.connect({ name: 'hints', forWorker: true });
    const seen: string[] = [];
    hints.on('message', (_channel, id: string) => seen.push(id));
    await hints.subscribe(hintChannel(hints, bench.keys.batchHints));
    expect(await bench.halve(0, 4)).toBe('halved');
    // Else its halves would have no jobs until a worker finds that the batch is stalled.
    await until(() => seen.includes(bench.id), { what: 'the hint' });
    expect(await bench.halve(0, 4)).toBe('known');
    expect(await bench.counts()).toEqual({ pending: 20 });
    expect([await bench.state(0), await bench.payload(0)]).toEqual(['settled', undefined]);
    expect(await bench.queue()).toEqual([2, 3]);
    expect(await bench.claim(2)).toMatchObject({ size: 4, possiblySent: 0 });
    expect(await bench.claim(3)).toMatchObject({ size: 6, possiblySent: 0 });
    expect([await bench.payload(2), await bench.payload(3)]).toEqual(['first', 'second']);
    expect(await bench.batch()).toMatchObject({ chunks: 4, chunksOfList: 2 });
  });

  it('that was possibly sent before: both have its history', async () => {
    const bench = await claimOne();
    await bench.settle(0, allBack(10, true));
    await bench.claim(0, 'b');
    expect(await bench.halve(0, 5, 'b')).toBe('halved');
    expect(await bench.claim(2, 'c')).toMatchObject({ kind: 'send', size: 5, possiblySent: 1 });
    await bench.settle(2, allFailed(5, 'rejected', 'C', ''), 'c');
    // Both attempts after the first were refused.
    expect(await bench.counts()).toEqual({ pending: 15, unknown: 5 });
  });

  it('is found by the search index, also where it was redriven', async () => {
    const bench = await claimOne();
    await bench.settle(0, allFailed(10, 'rejected', 'C', ''));
    const find = bench.keys.batchFind(bench.id);
    await redis.client.hset(find, '0', 'prints');
    await bench.ledger.redrive(bench.id, '0', 'rejected');
    await bench.claim(2);
    expect(await bench.halve(2, 5)).toBe('halved');
    expect(await redis.client.hgetall(find)).toMatchObject({ '>2.1': '3', '>2.2': '4' });
  });

  it('is cancelled where the batch was cancelled meanwhile', async () => {
    const bench = await claimOne();
    await bench.ledger.control(bench.id, 'cancel');
    expect(await bench.halve(0, 5)).toBe('halved');
    expect(await bench.counts()).toEqual({ cancelled: 20 });
    expect((await eventNames(bench)).at(-1)).toBe('batch.finished');
  });

  it('is no half of another size, nor that of another attempt', async () => {
    const bench = await claimOne();
    await expect(bench.halve(0, 10)).rejects.toThrow(RangeError);
    await expect(bench.halve(0, 0)).rejects.toThrow(RangeError);
    expect(await bench.halve(0, 5, 'b')).toBe('known');
    expect(await bench.counts()).toEqual({ pending: 20, sending: 10 });
  });

  it('is halved down to one contact, and its parts know the chunk that they were cut from', async () => {
    const bench = await claimOne({}, [10, 8_192]);
    expect(await bench.claim(1)).toMatchObject({ root: 1 });
    let chunk = 1;
    for (let size = 8_192; size > 1; size /= 2) {
      expect([size, await bench.halve(chunk, size / 2)]).toEqual([size, 'halved']);
      chunk = (await bench.batch()).chunks - 1;
      expect(await bench.claim(chunk)).toMatchObject({ size: size / 2, root: 1 });
    }
  });

  it('is halved also where thirteen chunks have one contact at fault each', async () => {
    const bench = await claimOne({}, Array<number>(13).fill(10));
    for (let chunk = 0; chunk < 13; chunk += 1) {
      await bench.claim(chunk);
      expect(await bench.halve(chunk, 5)).toBe('halved');
    }
    // The good halves are accepted before the others have shown what they are.
    for (let good = 13; good < 39; good += 2) {
      await bench.claim(good);
      await bench.settle(good, allAccepted(5));
    }
    for (let bad = 14; bad < 39; bad += 2) {
      await bench.claim(bad);
      expect([bad, await bench.halve(bad, 2)]).toEqual([bad, 'halved']);
    }
    expect(await bench.counts()).toEqual({ pending: 65, accepted: 65 });
  });
});

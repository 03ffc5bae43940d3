import { hintChannel } from '../../../src/redis/hints.ts';
import { describe, expect, it } from 'vitest';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { openBatch } from '../support/batch-bench.ts';

const redis = testRedis();

describe('a refused chunk that is at fault', () => {
  const HALVES = [Buffer.from('first'), Buffer.from('second')] as const;

  async function claimOne(sizes: readonly number[] = [10, 10]) {
    const bench = await openBatch(redis, {}, sizes);
    await bench.queue();
    await bench.claim(0);
    const halve = (chunk: number, first: number) =>
      bench.ledger.halve(bench.id, chunk, 'a', first, HALVES);
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

  it.each([0, 10])(
    'is not halved where %d of its ten contacts would be the first half',
    async (first) => {
      const bench = await claimOne();
      await expect(bench.halve(0, first)).rejects.toThrow('settle failed');
      expect(await bench.counts()).toEqual({ pending: 20, sending: 10 });
      expect(await bench.batch()).toMatchObject({ chunks: 2 });
    },
  );

  it('does not disturb the import that stores the chunks of the list meanwhile', async () => {
    const bench = await openBatch(redis, {}, [10, 10], false);
    await bench.claim(0);
    await bench.ledger.halve(bench.id, 0, 'a', 4, HALVES);
    expect(await bench.batch()).toMatchObject({ chunks: 4, chunksOfList: 2 });
    const store = (chunk: number) =>
      bench.ledger.store(bench.id, { chunk, size: 10, rows: 30, payload: Buffer.from('third') });
    expect(await store(1)).toBe('known');
    expect(await store(3)).toBe('gone');
    expect(await store(2)).toBe('stored');
    expect(await store(2)).toBe('known');
    expect(await bench.payload(4)).toBe('third');
    expect(await bench.counts()).toEqual({ pending: 30 });
  });

  it('is halved down to one contact, and its parts know the chunk that they were cut from', async () => {
    const bench = await claimOne([10, 8_192]);
    expect(await bench.claim(1)).toMatchObject({ root: 1 });
    let chunk = 1;
    for (let size = 8_192; size > 1; size /= 2) {
      expect([size, await bench.halve(chunk, size / 2)]).toEqual([size, 'halved']);
      chunk = (await bench.batch()).chunks - 1;
      expect(await bench.claim(chunk)).toMatchObject({ size: size / 2, root: 1 });
    }
  });
});

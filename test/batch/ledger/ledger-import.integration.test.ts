import { describe, expect, it } from 'vitest';
import { chunkJobId } from '../../../src/contracts/job.ts';
import { allAccepted, allFailed } from '../../../src/batch/ledger/settlement.ts';
import { testRedis } from '../../support/redis.ts';
import { openBatch, PLAN, RETENTION_MS } from '../support/batch-bench.ts';

const redis = testRedis();

describe('start', () => {
  it('forgets what the search index has of an earlier batch with the id, which has expired', async () => {
    const bench = await openBatch(redis, {}, []);
    const { record } = bench.keys.batch(bench.id);
    const index = bench.keys.batchFind(bench.id);
    await redis.client.hset(index, { '0': 'prints', '>0': '4' });
    expect(await bench.ledger.start(bench.id, PLAN, 'print', RETENTION_MS)).toBe('known');
    expect(await redis.client.exists(index)).toBe(1);
    await redis.client.del(record);
    expect(await bench.ledger.start(bench.id, PLAN, 'print', RETENTION_MS)).toBe('started');
    expect(await redis.client.exists(index)).toBe(0);
  });

  it('keeps the plan and the state of a new batch', async () => {
    const plan = { expiresAt: 5, rate: 7, bisect: false, delivery: 'at-most-once' } as const;
    const bench = await openBatch(redis, plan, [], false);
    const batch = await bench.batch();
    const { frame, ...shown } = PLAN;
    const { record } = bench.keys.batch(bench.id);
    expect(await redis.client.hget(record, 'frame')).toBe(frame);
    expect(batch).not.toHaveProperty('frame');
    expect(batch).toMatchObject({ ...shown, ...plan, id: 'b-1', phase: 'importing', chunks: 0 });
    expect(batch.begunAt).toBeGreaterThan(0);
    expect(batch).toMatchObject({ movedAt: batch.begunAt, importedAt: 0, finishedAt: 0 });
    expect(await bench.counts()).toEqual({});
    expect(await bench.ledger.list(10)).toEqual([batch]);
  });
});

describe('store', () => {
  it('keeps every byte', async () => {
    const bench = await openBatch(redis, {}, [], false);
    const bytes = Buffer.from(Array.from({ length: 512 }, (_, index) => index % 256));
    await bench.ledger.store(bench.id, { chunk: 0, size: 10, rows: 10, payload: bytes });
    expect(await bench.ledger.payload(bench.id, '0')).toEqual(bytes);
    expect(await bench.claim(0)).toMatchObject({ payload: bytes });
    const [one, rest] = [bytes.subarray(128, 300), bytes.subarray(7, 260)];
    await bench.ledger.halve(bench.id, 0, 'a', 1, [one, rest]);
    expect(await bench.ledger.payload(bench.id, '2')).toEqual(rest);
    const failed = allFailed('rejected', 'C\u0000"\\한', '끝\n\u0001');
    await bench.settleNew(1, failed);
    const { kind: _, ...failure } = failed;
    expect(await bench.failures()).toMatchObject([{ ...failure, name: '1', size: 1 }]);
    await bench.settleNew(2, allAccepted());
    await bench.ledger.endImport(bench.id, 0, 0);
    await bench.ledger.redrive(bench.id, '1', 'rejected', 'C\u0000"\\한');
    expect(await bench.claim(3)).toMatchObject({ payload: one });
  });
});

describe('the jobs of a batch with a rate', () => {
  /** Ten contacts take a second. */
  const RATE = { rate: 10 };
  const sizes = [10, 10, 5, 10, 10];

  it('are due one after the other, as long as the rate gives each, and only for a while ahead', async () => {
    const bench = await openBatch(redis, RATE, sizes);
    const next = await bench.ledger.chunksWithoutJob(bench.id, 9, 2_500);
    if (next === undefined) throw new Error('no chunk needs a job');
    const { now, first, end, turnsTo } = next;
    expect({ first, end, turnsTo: turnsTo - now }).toEqual({ first: 0, end: 4, turnsTo: 3_500 });
    expect(next.chunks.map(({ chunk, dueAt }) => [chunk, dueAt - now])).toEqual([
      [0, 0],
      [1, 1_000],
      [2, 2_000],
      [3, 2_500],
    ]);
    expect(await bench.ledger.chunksWithoutJob(bench.id, 9, 0, next)).toBeUndefined();
    const later = await bench.ledger.chunksWithoutJob(bench.id, 9, 60_000);
    expect(later?.chunks).toEqual([{ chunk: 4, dueAt: turnsTo }]);
  });

  it('get a turn each where they come too early', async () => {
    const bench = await openBatch(redis, RATE, sizes);
    expect(await bench.claimKind(0)).toBe('send');
    const waits: number[] = [];
    for (const chunk of [1, 2, 3]) {
      const claim = await bench.claim(chunk);
      if (claim.kind === 'later') waits.push(claim.afterMs);
    }
    const [one = 0, two = 0, three = 0] = waits;
    expect(one).toBeGreaterThan(500);
    expect(one).toBeLessThanOrEqual(1_000);
    // The clock of Redis goes on between two claims.
    expect(two - one).toBeGreaterThan(500);
    expect(two - one).toBeLessThanOrEqual(1_000);
    expect(three - two).toBeGreaterThan(0);
    expect(three - two).toBeLessThanOrEqual(500);
  });

  it('keep the turns of the others where one comes a little late, and not where it comes much later', async () => {
    for (const [lateMs, nextInMs] of [
      [100, 900],
      [5_000, 1_000],
    ] as const) {
      const bench = await openBatch(redis, RATE, sizes);
      const before = Date.now();
      await bench.setFields({ nextAt: before - lateMs });
      expect(await bench.claimKind(0)).toBe('send');
      const nextAt = Number(await redis.client.hget(bench.keys.batch(bench.id).record, 'nextAt'));
      expect(nextAt - before).toBeGreaterThanOrEqual(nextInMs);
      expect(nextAt - before).toBeLessThan(nextInMs + 100);
    }
  });
});

describe('the set of open batches', () => {
  const LEASE_MS = 60_000;

  it('names one that is due to one worker at a time', async () => {
    const bench = await openBatch(redis, {}, [10]);
    const { ledger, id } = bench;
    const taken = await ledger.takeOpen(LEASE_MS);
    expect(taken?.id).toBe(id);
    expect(await ledger.takeOpen(LEASE_MS)).toBeUndefined();
    await ledger.putBack(id, taken?.leaseEnds ?? 0, 0);
    expect(await ledger.takeOpen(LEASE_MS)).toMatchObject({ id });
  });

  it('names at once one that was resumed while a worker looked at it', async () => {
    const bench = await openBatch(redis, {}, [10]);
    const { ledger, id } = bench;
    const taken = await ledger.takeOpen(LEASE_MS);
    await ledger.control(id, 'pause');
    await ledger.control(id, 'resume');
    await ledger.putBack(id, taken?.leaseEnds ?? 0, LEASE_MS);
    expect(await ledger.takeOpen(LEASE_MS)).toMatchObject({ id });
  });

  it('drops what is not open', async () => {
    const bench = await openBatch(redis, {}, [10]);
    const { ledger, keys, id } = bench;
    await ledger.control(id, 'pause');
    await redis.client.zadd(keys.openBatches, 0, id, 0, 'gone');
    for (let index = 0; index < 2; index++) {
      const taken = await ledger.takeOpen(LEASE_MS);
      await ledger.putBack(taken?.id ?? '', taken?.leaseEnds ?? 0, 0);
    }
    expect(await redis.client.zcard(keys.openBatches)).toBe(0);
  });
});

describe('a stalled batch', () => {
  const AFTER_MS = 60_000;

  it.each([0, 10])(
    'is one, too, after a clock that went back an hour, with the rate %i',
    async (rate) => {
      const bench = await openBatch(redis, { rate }, [10, 10]);
      await bench.queue();
      const inAnHour = Date.now() + 3_600_000;
      await bench.setFields({ nextAt: inAnHour, turnsTo: inAnHour, movedAt: inAnHour });
      expect(await bench.ledger.restartStalled(bench.id, AFTER_MS)).toBe(false);
      const { movedAt, nextAt } = await bench.batch();
      expect(movedAt).toBeLessThanOrEqual(Date.now());
      expect(rate === 0 || nextAt <= Date.now()).toBe(true);
      await bench.setFields({ movedAt: 1, nextAt: 1 });
      expect(await bench.ledger.restartStalled(bench.id, AFTER_MS)).toBe(true);
    },
  );

  it('is one whose rate leaves chunks without jobs yet, and none while its rate makes it wait', async () => {
    const bench = await openBatch(redis, { rate: 1 }, [10, 10]);
    expect(await bench.queue()).toEqual([0]);
    await bench.setFields({ movedAt: 1, nextAt: Date.now() + 9_000 });
    expect(await bench.ledger.restartStalled(bench.id, AFTER_MS)).toBe(false);
    await bench.setFields({ nextAt: 1 });
    expect(await bench.ledger.restartStalled(bench.id, AFTER_MS)).toBe(true);
    expect(await bench.queue()).toEqual([0]);
  });

  it('is none where its many chunks wait for their next attempt, until one of them has no job', async () => {
    const sizes = Array.from({ length: 150 }, () => 1);
    const bench = await openBatch(redis, { chunkSize: 1 }, sizes);
    await bench.queue(1_000);
    const jobs = sizes.map((_, chunk) => chunkJobId({ batch: bench.id, chunk }));
    const { keys } = bench;
    for (const job of jobs) await redis.client.hset(keys.chunkJob(job), 'name', 'chunk');
    const dueAt = Date.now() + 300_000;
    // The score that BullMQ gives to a delayed job.
    await redis.client.zadd(keys.delayedChunks, ...jobs.flatMap((job) => [dueAt * 0x1000, job]));
    await bench.setFields({ movedAt: 1 });
    expect(await bench.ledger.nextAttempt(await bench.batch())).toBe(dueAt);
    expect(await bench.ledger.restartStalled(bench.id, AFTER_MS)).toBe(false);
    await redis.client.zrem(keys.delayedChunks, jobs[7] ?? '');
    await redis.client.del(keys.chunkJob(jobs[7] ?? ''));
    expect(await bench.ledger.restartStalled(bench.id, AFTER_MS)).toBe(true);
  });
});

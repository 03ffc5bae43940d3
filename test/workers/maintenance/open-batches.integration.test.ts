import { hintChannel } from '../../../src/redis/hints.ts';
import { UnrecoverableError, Worker } from 'bullmq';
import { describe, expect, it } from 'vitest';
import { CHUNK_JOB_NAME, CHUNK_JOB_VERSION, chunkJobId } from '../../../src/contracts/job.ts';
import { queueChunks } from '../../../src/batch/import/queue-chunks.ts';
import { allFailed } from '../../../src/batch/ledger/settlement.ts';
import { placeManualHold } from '../../../src/fleet/hold/holds.ts';
import { CHUNK_QUEUE_NAME } from '../../../src/redis/keys.ts';
import { buildBatch, contacts } from '../../batch/support/built-batch.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { startWorkerInProcess } from '../support/worker-in-process.ts';
import { bullQueue } from '../../support/bull-queue.ts';

const redis = testRedis();

const FRAME = JSON.stringify({ templateCode: 'T', scheduleType: 'DIRECTLY' });

/** A worker, and one batch of two chunks of five contacts that has no jobs. */
async function world(rate = 0) {
  const { prefix, keys } = redis.account();
  const chunks = [contacts(5), contacts(5, 5)];
  const batch = await buildBatch(redis.client, prefix, 'old', chunks, {
    plan: { frame: FRAME, rate },
  });
  const start = async (env: Readonly<Record<string, string>> = {}) => {
    return (await startWorkerInProcess(redis.url, prefix, env)).emulator;
  };
  /** The end of the batch, also of one that is cancelled. */
  const ended = async () => {
    const isOver = async () => (await batch.read()).finishedAt > 0;
    await until(isOver, { what: 'the end of the batch', deadlineMs: 30_000 });
    return (await batch.read()).counts;
  };
  /** A look of a worker ends: it sets the time of the next one, which is before the end of its lease. */
  const looked = () =>
    until(
      async () => {
        const next = Number(await redis.client.zscore(keys.openBatches, 'old'));
        return next > Date.now() && next < Date.now() + 15_000;
      },
      { what: 'a look of the worker', deadlineMs: 30_000 },
    );
  const lookAgain = async () => {
    await redis.client.zadd(keys.openBatches, 0, 'old');
    await redis.client.publish(hintChannel(redis.client, keys.batchHints), 'old');
  };
  /** Nothing of the batch has changed for so long. */
  const still = (ms: number) =>
    redis.client.hset(keys.batch('old').record, 'movedAt', Date.now() - ms);
  /** How many times it was reported as stalled. */
  const stalled = async () => {
    const events = await redis.client.xrange(keys.events, '-', '+');
    return events.filter(([, fields]) => fields.includes('batch.stalled')).length;
  };
  return { prefix, keys, batch, start, ended, looked, lookAgain, still, stalled };
}

/** Newer batches, all finished: so many that a look at the newest ones does not reach the old one. */
async function thousandNewer({ batch: { ledger } }: Awaited<ReturnType<typeof world>>) {
  const plan = await ledger.read('old');
  if (plan === undefined) throw new Error('there is no batch');
  await Promise.all(
    Array.from({ length: 1_001 }, async (_, index) => {
      await ledger.start(`new-${index}`, { ...plan, frame: FRAME }, 'fingerprint', 3_600_000);
      await ledger.endImport(`new-${index}`, 0, 0);
    }),
  );
}

describe('a batch older than the newest thousand', () => {
  it('is sent after it was resumed', async () => {
    const all = await world();
    await all.batch.ledger.control('old', 'pause');
    await thousandNewer(all);
    const emulator = await all.start();
    await all.batch.ledger.control('old', 'resume');
    expect(await all.ended()).toMatchObject({ accepted: 10 });
    expect(emulator.record()).toMatchObject({ distinct: 10, twice: 0 });
  }, 60_000);
});

describe('a batch whose chunks lost their jobs', () => {
  it('gets new ones in place of those that failed for good', async () => {
    const { keys, batch, start, ended } = await world();
    const queue = bullQueue(CHUNK_QUEUE_NAME, redis.client, keys);
    await queueChunks(batch.ledger, queue, 'old');
    const failing = new Worker(
      CHUNK_QUEUE_NAME,
      () => Promise.reject(new UnrecoverableError('a defect')),
      { connection: redis.connect({ forWorker: true }), prefix: keys.bullPrefix },
    );
    await until(async () => (await queue.getFailedCount()) === 2, { what: 'the jobs to fail' });
    await failing.close();
    await redis.client.hset(keys.batch('old').record, 'movedAt', Date.now() - 61_000);
    await start();
    expect(await ended()).toMatchObject({ accepted: 10 });
    expect(await queue.getFailedCount()).toBe(0);
  }, 60_000);
});

it('a batch whose last chunk waits for its next attempt is not stalled, unless its job is lost', async () => {
  const { keys, batch, start, ended, looked, lookAgain, still, stalled } = await world();
  await batch.settle(0, allFailed('rejected', 'CREDIT', ''));
  const queue = bullQueue(CHUNK_QUEUE_NAME, redis.client, keys);
  const data = { v: CHUNK_JOB_VERSION, batch: 'old', chunk: 1 };
  const jobId = chunkJobId(data);
  await queue.add(CHUNK_JOB_NAME, data, { jobId, delay: 300_000 });
  await queueChunks(batch.ledger, queue, 'old');
  await still(70_000);
  const emulator = await start();
  await looked();
  expect(await stalled()).toBe(0);

  await queue.remove(jobId);
  await lookAgain();
  expect(await ended()).toMatchObject({ accepted: 5, rejected: 5 });
  expect(await stalled()).toBe(1);
  expect(emulator.record()).toMatchObject({ distinct: 5, twice: 0 });
}, 90_000);

it.each([
  ['without a rate', 0],
  ['whose own rate leaves its later chunks without jobs', 1],
])(
  'a batch %s that waits behind another one is not stalled, unless a job is lost',
  async (_, rate) => {
    const { prefix, keys, batch, start, looked, lookAgain, still, stalled } = await world(rate);
    const queue = bullQueue(CHUNK_QUEUE_NAME, redis.client, keys);
    const many = Array.from({ length: 200 }, (_, chunk) => contacts(5, 1_000 + chunk * 5));
    const ahead = await buildBatch(redis.client, prefix, 'ahead', many, { plan: { frame: FRAME } });
    await queueChunks(ahead.ledger, queue, 'ahead');
    // With a rate, the first chunk only: the turn of the next one is too far ahead.
    await queueChunks(batch.ledger, queue, 'old', 1);
    await still(70_000);
    await start({ RATE_LIMIT: '1' });
    await looked();
    expect(await stalled()).toBe(0);

    await queue.remove(chunkJobId({ batch: 'old', chunk: 0 }));
    await lookAgain();
    await until(async () => (await stalled()) === 1, { what: 'the report of the lost job' });
  },
  90_000,
);

it('a cancelled batch waits for its attempts as long as a request can last', async () => {
  const { batch, start, ended, looked, lookAgain, still } = await world();
  await batch.claim(0);
  await batch.ledger.control('old', 'cancel');
  await still(70_000);
  const env = {
    SEND_DEADLINE_MS: '60000',
    LOCK_DURATION_MS: '180000',
    SHUTDOWN_TIMEOUT_MS: '70000',
  };
  await start(env);
  await looked();
  expect(await batch.read()).toMatchObject({ finishedAt: 0, counts: { sending: 5, cancelled: 5 } });

  await still(130_000);
  await lookAgain();
  expect(await ended()).toMatchObject({ sending: 0, unknown: 5, cancelled: 5 });
}, 90_000);

it('a cancelled batch ends also while the queue is held', async () => {
  const { keys, batch, start, ended, still, looked, lookAgain, stalled } = await world();
  await batch.claim(0);
  await placeManualHold(redis.client, keys, 'why');
  await start();
  await still(70_000);
  await looked();
  // One that is open does not: the hold explains it.
  expect([(await batch.read()).counts, await stalled()]).toMatchObject([{ sending: 5 }, 0]);
  await batch.ledger.control('old', 'cancel');
  await still(70_000);
  await lookAgain();
  expect(await ended()).toMatchObject({ sending: 0, unknown: 5, cancelled: 5 });
}, 90_000);

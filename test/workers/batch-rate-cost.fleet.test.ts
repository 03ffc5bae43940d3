import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { startRedisServer, type RedisServer } from '../../scripts/redis/redis-server.ts';
import { Ledger } from '../../src/batch/ledger/ledger.ts';
import { changeBatchRate } from '../../src/ops/operations/batches.ts';
import type { OperationContext } from '../../src/ops/operations/operation.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { buildBatch, contacts } from '../batch/support/built-batch.ts';
import { until } from '../support/wait.ts';
import { startWorkerInProcess } from './support/worker-in-process.ts';

/** Commands that one request of a batch with a rate may cost Redis, however many chunks wait. */
const MOST_PER_REQUEST = 250;

const CHUNKS = 400;

const FRAME = JSON.stringify({ templateCode: 'T', scheduleType: 'DIRECTLY' });

let server: RedisServer;
let redis: Redis;

beforeAll(async () => {
  server = await startRedisServer();
  redis = new Redis(server.url);
});

afterAll(async () => {
  redis.disconnect();
  await server.close();
});

/** Commands that Redis has executed, those of scripts included. */
async function commands(): Promise<number> {
  const lines = (await redis.info('commandstats')).matchAll(/^cmdstat_\S+:calls=(\d+)/gm);
  return [...lines].reduce((sum, [, calls]) => sum + Number(calls), 0);
}

/** Starts a worker for a batch of chunks of one contact. */
async function startSending(prefix: string, rate: number) {
  const chunks = Array.from({ length: CHUNKS }, (_, at) => contacts(1, at));
  const plan = { rate, frame: FRAME };
  await buildBatch(redis, prefix, 'slow', chunks, { plan });
  const worker = await startWorkerInProcess(server.url, prefix);
  onTestFinished(() => worker.stop());
  const requests = () => worker.emulator.record().requests;
  /** Waits for so many more requests. */
  return async (more: number) => {
    const wanted = requests() + more;
    await until(() => requests() >= wanted, {
      what: `${wanted} requests`,
      deadlineMs: 30_000,
      everyMs: 50,
    });
  };
}

it.each([
  ['one request a second', 1, 4],
  ['twenty requests a second', 20, 80],
])(
  'a batch with a rate, %s: the chunks that wait cost nothing',
  async (_, rate, requests) => {
    const sent = await startSending(`rate-${rate}`, rate);
    // The start of a worker and the first look at the batch are not part of a request.
    await sent(rate);
    const before = await commands();
    const startedAt = performance.now();
    await sent(requests);
    const seconds = (performance.now() - startedAt) / 1_000;
    expect(((await commands()) - before) / requests).toBeLessThanOrEqual(MOST_PER_REQUEST);
    // The rate is kept, and used.
    expect(seconds).toBeGreaterThan((requests / rate) * 0.9);
    expect(seconds).toBeLessThan((requests / rate) * 2);
  },
  60_000,
);

it('a rate that is changed is that of the next second, up and down, also of jobs that wait for turns', async () => {
  const keys = keysOf('changed-rate', 'default');
  const ledger = new Ledger(redis, keys);
  const context = { ledger, redis, keys } as OperationContext;
  const set = (rate: number) =>
    changeBatchRate.run(context, { id: 'slow', rate }, { who: 'test', why: 'test' });
  const sent = await startSending('changed-rate', 1);
  await sent(2);
  const timed = async (requests: number) => {
    const startedAt = performance.now();
    await sent(requests);
    return performance.now() - startedAt;
  };
  expect(await set(40)).toMatchObject({ phase: 'sending', rate: 40 });
  expect(await timed(80)).toBeLessThan(3_500);
  await set(2);
  // Those under way, and one at once.
  await sent(3);
  expect(await timed(4)).toBeGreaterThan(1_200);
  await set(0);
  const isOver = async () => (await ledger.read('slow'))?.counts.accepted === CHUNKS;
  await until(isOver, { what: 'the rest, without a rate', deadlineMs: 8_000 });
}, 60_000);

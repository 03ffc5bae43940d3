import { expect, it, onTestFinished } from 'vitest';
import { NoticeQueue } from '../../../src/producer/notice-queue.ts';
import { clockProxy } from '../../support/redis-proxy.ts';
import { testRedis } from '../../support/redis.ts';
import { connectionAs } from '../../support/redis-users.ts';
import { until } from '../../support/wait.ts';
import { startWorkerInProcess } from '../support/worker-in-process.ts';

const redis = testRedis();

it('a worker whose wall clock is wrong logs by how much', async () => {
  const url = await clockProxy(redis.url, 3_600);
  const worker = await startWorkerInProcess(url, redis.freshPrefix());
  const { aheadMs } = worker.lines.find(({ event }) => event === 'clock-skew') ?? {};
  expect(Math.abs(Number(aheadMs) + 3_600_000)).toBeLessThan(5_000);
});

it('a retry of a worker whose wall clock is an hour ahead is due by the clock of Redis', async () => {
  const prefix = redis.freshPrefix();
  const faults = [{ on: 'send', reset: 'after-acting', times: 1 }] as const;
  const url = await clockProxy(redis.url, -3_600);
  const worker = await startWorkerInProcess(url, prefix, { BACKOFF_BASE_MS: '100' }, { faults });
  const queue = new NoticeQueue({ redis: connectionAs('producer', redis.url), prefix });
  onTestFinished(() => queue.close());
  await queue.send({ templateCode: 'T', contacts: [{ contact: '01000000001' }] });
  const { emulator } = worker;
  await until(() => emulator.record().contacts > 1, { what: 'the retry' });
  expect([...emulator.contacts()].map(({ count }) => count)).toEqual([2]);
});

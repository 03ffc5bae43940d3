import { expect, it, onTestFinished } from 'vitest';
import { clockProxy } from '../../cli/account/support/clock-proxy.ts';
import { testRedis } from '../../support/redis.ts';
import { startWorkerInProcess } from '../support/worker-in-process.ts';

const redis = testRedis();

it('a worker whose wall clock is wrong logs by how much', async () => {
  const url = await clockProxy(redis.url, 3_600);
  const worker = await startWorkerInProcess(url, redis.freshPrefix());
  onTestFinished(() => worker.stop());
  const { aheadMs } = worker.lines.find(({ event }) => event === 'clock-skew') ?? {};
  expect(Math.abs(Number(aheadMs) + 3_600_000)).toBeLessThan(5_000);
});

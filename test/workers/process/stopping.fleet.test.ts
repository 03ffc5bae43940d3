import type { Queue } from 'bullmq';
import { afterEach, describe, expect, it } from 'vitest';
import { keysOf, QUEUE_NAME } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import { numbers, startFleet, type Fleet } from '../../support/fleet.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';

describe('a worker that is told to stop', () => {
  const redis = testRedis();
  let fleet: Fleet | undefined;
  let board: Queue | undefined;

  afterEach(async () => {
    await board?.close();
    await fleet?.close();
    board = undefined;
    fleet = undefined;
  });

  async function start(env: Readonly<Record<string, string>> = {}): Promise<Fleet> {
    const prefix = redis.freshPrefix();
    fleet = await startFleet({
      redisUrl: redis.url,
      prefix,
      processes: 1,
      env: { CONCURRENCY: '16', ...env },
      emulator: { latencyMs: 50 },
    });
    board = openBullQueue(QUEUE_NAME, redis.connect({ name: 'board' }), keysOf(prefix, 'default'));
    return fleet;
  }

  const first = (on: Fleet) => {
    const [worker] = on.workers;
    if (worker === undefined) throw new Error('the fleet has no worker');
    return worker;
  };

  it('finishes what is being sent, leaves the rest untouched, and ends with 0', async () => {
    const on = await start();
    await on.sendEach(numbers(500));
    await until(() => on.emulator.record().contacts >= 50, { what: 'some sends', everyMs: 5 });
    first(on).kill('SIGTERM');
    expect(await first(on).ended).toBe(0);

    const counts = await board?.getJobCounts('active', 'waiting', 'completed', 'failed', 'delayed');
    expect(counts).toMatchObject({ active: 0, failed: 0, delayed: 0 });
    // What was being sent was finished and is counted: nothing is left in between.
    expect(counts?.['completed']).toBe(on.emulator.record().contacts);
    expect(Number(counts?.['completed']) + Number(counts?.['waiting'])).toBe(500);
    const waiting = await board?.getJobs(['waiting']);
    expect(waiting?.every(({ attemptsMade }) => attemptsMade === 0)).toBe(true);

    await on.addWorker();
    await until(() => on.emulator.record().distinct === 500, {
      what: 'the rest',
      deadlineMs: 20_000,
    });
    expect(on.emulator.record().twice).toBe(0);
  }, 60_000);

  it('gives back at once what waits for a token', async () => {
    const on = await start();
    on.emulator.addFault({ on: 'token', hang: 'before-acting' });
    await on.sendEach(numbers(16));
    await until(async () => (await board?.getActiveCount()) === 16, { what: 'all to wait' });
    const asked = performance.now();
    first(on).kill('SIGTERM');
    expect(await first(on).ended).toBe(0);
    // An issuance under way may be stored; the jobs do not wait for a send deadline of 30 s.
    expect(performance.now() - asked).toBeLessThan(15_000);
    expect(await board?.getJobCounts('active', 'waiting')).toMatchObject({
      active: 0,
      waiting: 16,
    });
    expect(on.attempts()).toEqual([]);
  }, 60_000);

  it('a second time ends at once, more than a second later', async () => {
    const on = await start();
    on.emulator.addFault({ on: 'send', hang: 'before-acting' });
    await on.sendEach(numbers(4));
    await until(() => on.emulator.faults()[0]?.fired === 4, { what: 'sends that hang' });
    first(on).kill('SIGTERM');
    await until(() => first(on).lines.some(({ event }) => event === 'stopping'), {
      what: 'the stop to begin',
    });
    // Signals of the first second are the same request, so one is sent until the process ends.
    const again = setInterval(() => first(on).kill('SIGTERM'), 100);
    try {
      expect(await first(on).ended).toBe(143);
    } finally {
      clearInterval(again);
    }
  }, 60_000);
});

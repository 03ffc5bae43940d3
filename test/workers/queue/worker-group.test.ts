import { afterEach, expect, it, vi } from 'vitest';
import type { RedisClient } from '../../../src/redis/connect.ts';
import { InFlight } from '../../../workers/queue/in-flight.ts';
import { JobLocks } from '../../../workers/queue/job-locks.ts';
import type { SendWorker } from '../../../workers/queue/send-job.ts';
import { WorkerGroup } from '../../../workers/queue/worker-group.ts';

afterEach(() => vi.useRealTimers());

/** A group whose worker never closes, as BullMQ's while Redis is away. */
function stop({ busy, answers }: { busy: boolean; answers: boolean }) {
  vi.useFakeTimers();
  const inFlight = new InFlight();
  const isBusy = vi.spyOn(inFlight, 'busy', 'get').mockReturnValue(busy);
  const worker = {
    on: () => {},
    close: () => new Promise<void>(() => {}),
    abandon: () => Promise.resolve(),
  };
  const ping = () => (answers ? Promise.resolve('PONG') : Promise.reject(new Error('away')));
  const group = new WorkerGroup([worker as unknown as SendWorker], {
    redis: { ping } as unknown as RedisClient,
    inFlight,
    locks: new JobLocks(30_000),
    onError: () => {},
  });
  let stopped = false;
  void group.stop().then(() => (stopped = true));
  return {
    isStopped: () => stopped,
    after: (ms: number) => vi.advanceTimersByTimeAsync(ms),
    idle: () => isBusy.mockReturnValue(false),
  };
}

it.each([true, false])(
  'a stop waits while a result is not recorded, Redis answers: %s',
  async (answers) => {
    const stopping = stop({ busy: true, answers });
    await stopping.after(60_000);
    expect(stopping.isStopped()).toBe(false);
    stopping.idle();
    await stopping.after(4_000);
    expect(stopping.isStopped()).toBe(true);
  },
);

it('with nothing under way it ends at once while Redis is away', async () => {
  const stopping = stop({ busy: false, answers: false });
  await stopping.after(300);
  expect(stopping.isStopped()).toBe(true);
});

it('with nothing under way it leaves a Redis that answers three seconds', async () => {
  const stopping = stop({ busy: false, answers: true });
  await stopping.after(2_500);
  expect(stopping.isStopped()).toBe(false);
  await stopping.after(1_000);
  expect(stopping.isStopped()).toBe(true);
});

import { RateLimitError, type Worker } from 'bullmq';
import { afterEach, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import { keysOf, QUEUE_NAME } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import { InFlight } from '../../../workers/queue/in-flight.ts';
import { buildSendWorker, lanesOf } from '../../../workers/queue/send-worker.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';

const redis = testRedis();
let workers: Worker[] = [];

afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.close()));
  workers = [];
});

/** Connections that wait for a job. */
async function blocked(): Promise<number> {
  return Number(/blocked_clients:(\d+)/.exec(await redis.client.info('clients'))?.[1]);
}

it.each([0, 1, 5])(
  'a job with the priority %i that its worker returns goes to an idle one at once',
  async (priority) => {
    const keys = keysOf(redis.freshPrefix(), 'default');
    const settings = loadConfig({}, { service: false }).worker;
    const lane = lanesOf({ ...settings, concurrency: 1 }).notices;
    const runs: { readonly by: number; readonly at: number }[] = [];
    workers = [0, 1].map((by) =>
      buildSendWorker(
        {
          redis: redis.connect({ forWorker: true }),
          keys,
          lane,
          settings,
          inFlight: new InFlight(),
        },
        async () => {
          runs.push({ by, at: performance.now() });
          if (runs.length > 1) return;
          // It takes no further jobs, like a worker that the service refuses.
          await workers[by]?.pause(true);
          throw new RateLimitError();
        },
      ),
    );
    const before = await blocked();
    for (const worker of workers) void worker.run();
    await until(async () => (await blocked()) === before + 2, { what: 'two idle workers' });
    const queue = openBullQueue(QUEUE_NAME, redis.client, keys);
    await queue.add('send', {}, { priority });
    // An idle worker looks again after five seconds in any case.
    await until(() => runs.length === 2, { what: 'the other one to run it', deadlineMs: 2_500 });
    expect(new Set(runs.map(({ by }) => by)).size).toBe(2);
    await queue.close();
  },
);

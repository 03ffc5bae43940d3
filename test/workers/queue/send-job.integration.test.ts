import { DelayedError, RateLimitError, UnrecoverableError, type Job, type Worker } from 'bullmq';
import { afterEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/config/config.ts';
import { keysOf, QUEUE_NAME } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import { InFlight } from '../../../workers/queue/in-flight.ts';
import { buildSendWorker, lanesOf } from '../../../workers/queue/send-worker.ts';
import { testRedis } from '../../support/redis.ts';
import { signal, until } from '../../support/wait.ts';

/** Commands in a second of one worker that can record and fetch nothing. */
const MOST_COMMANDS = 60;

/**
 * Fails when BullMQ no longer calls the moves of `SendJob`: the error of Redis then becomes a failed
 * attempt, and the job has run twice or with another end.
 */
describe('a job whose run ends while Redis refuses writes', () => {
  const redis = testRedis();
  let worker: Worker | undefined;

  afterEach(async () => {
    await redis.client.config('SET', 'min-replicas-to-write', '0');
    await worker?.close();
  });

  const ends: Readonly<
    Record<string, { run: (job: Job, token: string) => unknown; state: string; attempts: number }>
  > = {
    'with a result': { run: () => ({ outcome: 'accepted' }), state: 'completed', attempts: 1 },
    'as failed for good': {
      run: () => {
        throw new UnrecoverableError('REJECTED');
      },
      state: 'failed',
      attempts: 1,
    },
    'as a failed attempt': {
      run: () => {
        throw new Error('OUTCOME_UNKNOWN');
      },
      state: 'delayed',
      attempts: 1,
    },
    'as requeued': {
      run: () => {
        throw new RateLimitError();
      },
      state: 'waiting',
      attempts: 0,
    },
    'as put off': {
      run: async (job, token) => {
        await job.moveToDelayed(Date.now() + 60_000, token);
        throw new DelayedError();
      },
      state: 'delayed',
      attempts: 0,
    },
  };

  it.each(Object.entries(ends))('ends %s', async (_name, { run, state, attempts }) => {
    const keys = keysOf(redis.freshPrefix(), 'default');
    const settings = { ...loadConfig({}, { service: false }).worker, backoffBaseMs: 60_000 };
    const [began, mayEnd] = [signal(), signal()];
    const inFlight = new InFlight();
    let runs = 0;
    const sender = buildSendWorker(
      {
        redis: redis.connect({ forWorker: true }),
        keys,
        lane: lanesOf({ ...settings, concurrency: 1 }).notices,
        settings,
        inFlight,
      },
      async (job, token) => {
        runs++;
        began.resolve();
        await mayEnd.promise;
        return run(job, token ?? '');
      },
    );
    worker = sender;
    let errors = 0;
    sender.on('error', () => errors++);
    void sender.run();
    const queue = openBullQueue(QUEUE_NAME, redis.client, keys);
    const { id = '' } = await queue.add('send', {});
    await began.promise;
    // A worker that requeues its job takes it again at once.
    await sender.pause(true);

    await redis.client.config('SET', 'min-replicas-to-write', '1');
    mayEnd.resolve();
    const before = await commands();
    const from = performance.now();
    await until(() => errors > 0 && performance.now() - from > 1_000, { what: 'some refusals' });
    expect((await commands()) - before).toBeLessThan(MOST_COMMANDS);
    expect(inFlight.busy).toBe(state !== 'waiting');
    await redis.client.config('SET', 'min-replicas-to-write', '0');

    await until(async () => (await queue.getJobState(id)) === state, { what: state });
    const job = (await queue.getJob(id)) as Job;
    expect([runs, job.attemptsMade, job.stalledCounter]).toEqual([1, attempts, 0]);
    await until(() => !inFlight.busy, { what: 'nothing to be left to record' });
    await queue.close();
  });

  it('costs few commands while no job can be fetched', async () => {
    const keys = keysOf(redis.freshPrefix(), 'default');
    const settings = loadConfig({}, { service: false }).worker;
    const queue = openBullQueue(QUEUE_NAME, redis.client, keys);
    await queue.addBulk([1, 2, 3].map(() => ({ name: 'send', data: {} })));
    await redis.client.config('SET', 'min-replicas-to-write', '1');
    const lane = lanesOf(settings).notices;
    const connection = redis.connect({ forWorker: true });
    let runs = 0;
    const sender = buildSendWorker(
      { redis: connection, keys, lane, settings, inFlight: new InFlight() },
      () => Promise.resolve(runs++),
    );
    worker = sender;
    let errors = 0;
    sender.on('error', () => errors++);
    void sender.run();
    await until(() => errors > 0, { what: 'the first refusal' });
    const before = await commands();
    const from = performance.now();
    await until(() => performance.now() - from > 1_000, { what: 'a second' });
    expect((await commands()) - before).toBeLessThan(MOST_COMMANDS);
    await redis.client.config('SET', 'min-replicas-to-write', '0');
    await until(() => runs === 3, { what: 'all jobs to be run' });
    await queue.close();
  });

  it('has its locks renewed by BullMQ through the worker, which notes when', async () => {
    const keys = keysOf(redis.freshPrefix(), 'default');
    const settings = { ...loadConfig({}, { service: false }).worker, lockDurationMs: 500 };
    const mayEnd = signal();
    const sender = buildSendWorker(
      {
        redis: redis.connect({ forWorker: true }),
        keys,
        lane: lanesOf(settings).notices,
        settings,
        inFlight: new InFlight(),
      },
      () => mayEnd.promise,
    );
    worker = sender;
    const startedAt = performance.now();
    const renewed = signal();
    sender.on('locksRenewed', () => renewed.resolve());
    void sender.run();
    const queue = openBullQueue(QUEUE_NAME, redis.client, keys);
    await queue.add('send', {});
    await renewed.promise;
    expect(sender.renewalSentAt).toBeGreaterThan(startedAt);
    expect(sender.renewalSentAt).toBeLessThan(performance.now());
    mayEnd.resolve();
    await queue.close();
  });

  async function commands(): Promise<number> {
    return Number(/total_commands_processed:(\d+)/.exec(await redis.client.info('stats'))?.[1]);
  }
});

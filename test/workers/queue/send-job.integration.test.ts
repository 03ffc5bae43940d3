import { DelayedError, RateLimitError, UnrecoverableError, type Job, type Worker } from 'bullmq';
import { afterEach, describe, expect, it } from 'vitest';
import { loadConfig, type WorkerConfig } from '../../../src/config/config.ts';
import { QUEUE_NAME } from '../../../src/redis/keys.ts';
import { InFlight } from '../../../workers/queue/in-flight.ts';
import { buildSendWorker, lanesOf, type RunJob } from '../../../workers/queue/send-worker.ts';
import { testRedis } from '../../support/redis.ts';
import { signal, until } from '../../support/wait.ts';
import { bullQueue } from '../../support/bull-queue.ts';

/** Commands in a second of one worker that can record and fetch nothing. */
const MOST_COMMANDS = 60;

const redis = testRedis();
let workers: Worker[] = [];
const refuse = (is: boolean) => redis.client.config('SET', 'min-replicas-to-write', is ? '1' : '0');

afterEach(async () => {
  await refuse(false);
  await Promise.all(workers.map((worker) => worker.close()));
  workers = [];
});

/** A queue, and so many workers of it that do not run yet. @param run is given which of them runs a job */
function start(run: (by: number) => RunJob, changes: Partial<WorkerConfig> = {}, count = 1) {
  const { keys } = redis.account();
  const settings = { ...loadConfig({}, { service: false }).worker, concurrency: 1, ...changes };
  const inFlight = new InFlight();
  const seen = { errors: 0 };
  const queue = bullQueue(QUEUE_NAME, redis.client, keys);
  const built = Array.from({ length: count }, (_, by) => {
    const connection = redis.connect({ forWorker: true });
    const lane = lanesOf(settings).notices;
    return buildSendWorker({ redis: connection, keys, lane, settings, inFlight }, run(by));
  });
  for (const worker of built) worker.on('error', () => seen.errors++);
  workers = built;
  return { queue, inFlight, seen, built };
}

/** How many commands Redis executes in a second. */
async function commandsInASecond(): Promise<number> {
  const read = async () =>
    Number(/total_commands_processed:(\d+)/.exec(await redis.client.info('stats'))?.[1]);
  const before = await read();
  const from = performance.now();
  await until(() => performance.now() - from > 1_000, { what: 'a second' });
  return (await read()) - before;
}

/**
 * Fails when BullMQ no longer calls the moves of `SendJob`: the error of Redis then becomes a failed
 * attempt, and the job has run twice or with another end.
 */
describe('a job whose run ends while Redis refuses writes', () => {
  const fail = (error: Error) => () => {
    throw error;
  };
  const putOff: RunJob = async (job) => {
    await job.moveToDelayed(Date.now() + 60_000, job.token);
    throw new DelayedError();
  };
  const ends: [string, RunJob, state: string, attempts: number][] = [
    ['with a result', () => Promise.resolve({ outcome: 'accepted' }), 'completed', 1],
    ['as failed for good', fail(new UnrecoverableError('REJECTED')), 'failed', 1],
    ['as a failed attempt', fail(new Error('OUTCOME_UNKNOWN')), 'delayed', 1],
    ['as requeued', fail(new RateLimitError()), 'waiting', 0],
    ['as put off', putOff, 'delayed', 0],
  ];

  it.each(ends)('ends %s', async (_name, run, state, attempts) => {
    const [began, mayEnd] = [signal(), signal()];
    let runs = 0;
    const { queue, inFlight, seen, built } = start(
      () => async (job) => {
        runs++;
        began.resolve();
        await mayEnd.promise;
        return run(job);
      },
      { backoffBaseMs: 60_000 },
    );
    void built[0]?.run();
    const { id = '' } = await queue.add('send', {});
    await began.promise;
    // A worker that requeues its job takes it again at once.
    await built[0]?.pause(true);

    await refuse(true);
    mayEnd.resolve();
    expect(await commandsInASecond()).toBeLessThan(MOST_COMMANDS);
    expect(seen.errors).toBeGreaterThan(0);
    expect(inFlight.busy).toBe(state !== 'waiting');
    await refuse(false);

    await until(async () => (await queue.getJobState(id)) === state, { what: state });
    const job = (await queue.getJob(id)) as Job;
    expect([runs, job.attemptsMade, job.stalledCounter]).toEqual([1, attempts, 0]);
    await until(() => !inFlight.busy, { what: 'nothing to be left to record' });
  });
});

it('costs few commands while no job can be fetched', async () => {
  let runs = 0;
  const { queue, seen, built } = start(() => () => Promise.resolve(runs++));
  await queue.addBulk([1, 2, 3].map(() => ({ name: 'send', data: {} })));
  await refuse(true);
  void built[0]?.run();
  await until(() => seen.errors > 0, { what: 'the first refusal' });
  expect(await commandsInASecond()).toBeLessThan(MOST_COMMANDS);
  await refuse(false);
  await until(() => runs === 3, { what: 'all jobs to be run' });
});

it('has its locks renewed by BullMQ through the worker, which notes when', async () => {
  const [renewed, mayEnd] = [signal(), signal()];
  const { queue, built } = start(() => () => mayEnd.promise, { lockDurationMs: 500 });
  const [worker] = built;
  const startedAt = performance.now();
  worker?.on('locksRenewed', () => renewed.resolve());
  void worker?.run();
  await queue.add('send', {});
  await renewed.promise;
  expect(worker?.renewalSentAt).toBeGreaterThan(startedAt);
  expect(worker?.renewalSentAt).toBeLessThan(performance.now());
  mayEnd.resolve();
});

it.each([0, 1, 5])(
  'a job with the priority %i that its worker returns goes to an idle one at once',
  async (priority) => {
    const runs: number[] = [];
    const { queue, built } = start(
      (by) => async () => {
        runs.push(by);
        if (runs.length > 1) return;
        // It takes no further jobs, like a worker that the service refuses.
        await workers[by]?.pause(true);
        throw new RateLimitError();
      },
      {},
      2,
    );
    /** Connections that wait for a job. */
    const blocked = async () =>
      Number(/blocked_clients:(\d+)/.exec(await redis.client.info('clients'))?.[1]);
    const before = await blocked();
    for (const worker of built) void worker.run();
    await until(async () => (await blocked()) === before + 2, { what: 'two idle workers' });
    await queue.add('send', {}, { priority });
    // An idle worker looks again after five seconds in any case.
    await until(() => runs.length === 2, { what: 'the other one to run it', deadlineMs: 2_500 });
    expect(new Set(runs).size).toBe(2);
  },
);

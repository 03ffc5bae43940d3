import { Redis } from 'ioredis';
import { it, type TestContext } from 'vitest';
import { startRedisServer } from '../../scripts/redis/redis-server.ts';
import { pause } from '../../src/async/cancellation.ts';
import type { HoldKind } from '../../src/contracts/hold.ts';
import type { Fault } from '../../src/emulator/faults/fault.ts';
import { readHold, placeManualHold } from '../../src/fleet/hold/hold-scripts.ts';
import { NoticeQueue } from '../../src/producer/notice-queue.ts';
import { keysOf, type Keys } from '../../src/redis/keys.ts';
import { numbers } from '../support/fleet.ts';
import { until } from '../support/wait.ts';
import { startWorkerInProcess, type WorkerInProcess } from './support/worker-in-process.ts';
import { connectionAs } from '../support/redis-users.ts';

/**
 * Redis commands that a worker process executes while nothing can be sent (limits.md). When a probe is
 * due, each free place takes a job, asks the gate and returns the job.
 */
const MOST_PER_SECOND = 100;
const MOST_PER_JOB = 75;

/** What is measured lasts until so many probes have been made, within these times. */
const PROBES = 2;
const LEAST_MS = 3_000;
const MOST_MS = 10_000;
const POLL_MS = 100;

/** Jobs that failed probes have put off. */
const PUT_OFF = 5;

const JOBS = 1_000;
const CHUNKS = 30;

interface Situation {
  readonly queue: NoticeQueue;
  readonly redis: Redis;
  readonly keys: Keys;
  readonly worker: WorkerInProcess;
}

/** Commands that Redis has executed, those of scripts included and those of this connection left out. */
async function commands(redis: Redis): Promise<number> {
  const lines = (await redis.info('commandstats')).matchAll(/^cmdstat_(\S+):calls=(\d+)/gm);
  return [...lines].reduce(
    (sum, [, name, calls]) => sum + (name === 'info' ? 0 : Number(calls)),
    0,
  );
}

/** What a worker has executed, and what it may have. */
interface Cost {
  readonly commands: number;
  readonly most: number;
}

/** Commands of a worker with notices and a batch that wait, once `begun` has made it stop. */
async function cost(
  begin: (situation: Situation) => Promise<unknown>,
  kind: HoldKind,
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
): Promise<Cost> {
  const server = await startRedisServer();
  onTestFinished(() => server.close());
  const redis = new Redis(server.url);
  onTestFinished(() => redis.disconnect());
  const keys = keysOf('held', 'default');
  const worker = await startWorkerInProcess(server.url, 'held', {
    ISSUE_DEADLINE_MS: '2000',
    TOKEN_BUDGET: '3',
  });
  onTestFinished(() => worker.stop());
  const queue = new NoticeQueue({ redis: connectionAs('application', server.url), prefix: 'held' });
  onTestFinished(() => queue.close());
  const situation = { queue, redis, keys, worker };
  await begin(situation);
  await queue.sendMany(
    numbers(JOBS).map((contact) => ({ templateCode: 'T', contacts: [{ contact }] })),
  );
  const rows = numbers(CHUNKS, 20_000).map((contact) => ({ contact }));
  await queue.import(rows, { templateCode: 'T', chunkSize: 1 });
  await until(async () => (await readHold(redis, keys))?.kind === kind, {
    what: 'nothing to be sent',
    deadlineMs: 20_000,
  });
  // What was fetched before ends first.
  await until(async () => (await redis.llen(keys.noticesIn('active'))) <= 1, {
    what: 'the jobs that were fetched',
    deadlineMs: 20_000,
  });
  // Attempts before the hold put hundreds of jobs off; each comes back once.
  await until(async () => (await redis.zcard(keys.noticesIn('delayed'))) <= PUT_OFF, {
    what: 'the jobs that were put off',
    deadlineMs: 20_000,
  });
  let next = await nextProbeAt(redis, keys);
  // With a probe to come, one may be under way at the end.
  let probes = next > 0 ? 1 : 0;
  const before = await commands(redis);
  const startedAt = performance.now();
  const elapsed = () => performance.now() - startedAt;
  do {
    await pause(POLL_MS);
    const last = next;
    next = await nextProbeAt(redis, keys);
    if (next !== last) probes++;
  } while (elapsed() < LEAST_MS || (probes <= PROBES && elapsed() < MOST_MS));
  return {
    commands: (await commands(redis)) - before,
    most: (elapsed() / 1_000) * MOST_PER_SECOND + probes * worker.placesForJobs * MOST_PER_JOB,
  };
}

/** Changes with each probe, also where the probe finds another kind of hold; 0 where there is none. */
const nextProbeAt = async (redis: Redis, keys: Keys): Promise<number> =>
  (await readHold(redis, keys))?.nextProbeAt ?? 0;

const answers =
  (...faults: Fault[]) =>
  ({ worker }: Situation) => {
    for (const fault of faults) worker.emulator.addFault(fault);
    return Promise.resolve();
  };

/** With a token, so that the requests themselves fail. */
async function endService({ queue, worker }: Situation): Promise<void> {
  await queue.send({ templateCode: 'T', contacts: [{ contact: '01099999999' }] });
  await until(() => worker.emulator.record().contacts === 1, {
    what: 'the first',
    deadlineMs: 20_000,
  });
  await worker.emulator.close();
}

const HELD: readonly [HoldKind, (situation: Situation) => Promise<unknown>][] = [
  ['credentials', answers({ on: 'token', status: 403, code: 'INVALID_ACCESS_KEY' })],
  ['token-contested', answers({ on: 'send', status: 401, code: 'TOKEN_EXPIRED' })],
  ['token-unavailable', answers({ on: 'token', reset: 'after-acting' })],
  ['unreachable', endService],
  ['failing', answers({ on: 'send', status: 500 })],
  ['credit', answers({ on: 'send', status: 402 })],
  ['throttled', answers({ on: 'send', status: 429, retryAfter: 1 })],
  ['address', answers({ on: 'send', status: 302, headers: { location: 'http://x' } })],
  ['manual', ({ redis, keys }) => placeManualHold(redis, keys, 'a test')],
];

it.concurrent.for(HELD)(
  'a worker costs Redis little while the queue is held: %s',
  { timeout: 60_000 },
  async ([kind, begin], { expect, onTestFinished }) => {
    const executed = await cost(begin, kind, { onTestFinished });
    console.log(kind, executed);
    expect(executed.commands).toBeLessThanOrEqual(executed.most);
  },
);

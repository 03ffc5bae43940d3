import type { Redis } from 'ioredis';
import { expect, it, type TestContext } from 'vitest';
import { pause } from '../../src/async/cancellation.ts';
import { Ledger } from '../../src/batch/ledger/ledger.ts';
import type { HoldKind } from '../../src/contracts/hold.ts';
import type { Fault } from '../../src/emulator/faults/fault.ts';
import { readHold, placeManualHold } from '../../src/fleet/hold/holds.ts';
import { changeBatchRate } from '../../src/ops/operations/batches.ts';
import type { OperationContext } from '../../src/ops/operations/operation.ts';
import { NoticeQueue } from '../../src/producer/notice-queue.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { buildBatch, contacts } from '../batch/support/built-batch.ts';
import { numbers } from '../support/fleet.ts';
import { connectionAs } from '../support/redis-users.ts';
import { until } from '../support/wait.ts';
import { commandCalls } from '../token/support/server-calls.ts';
import { startWorkerInProcess } from './support/worker-in-process.ts';
import { ownRedis } from '../support/own-redis.ts';

/**
 * Redis commands that a worker process executes while nothing can be sent (limits.md). When a probe is
 * due, each free place takes a job, asks the gate and returns the job.
 */
const MOST_PER_SECOND = 100;
const MOST_PER_JOB = 75;

/** Commands that one request of a batch with a rate may cost Redis, however many chunks wait. */
const MOST_PER_REQUEST = 250;

/** What is measured lasts until so many probes have been made, within these times. */
const PROBES = 2;
const LEAST_MS = 3_000;
const MOST_MS = 10_000;
const POLL_MS = 100;

/** Jobs that failed probes have put off. */
const PUT_OFF = 5;

const JOBS = 1_000;
const HELD_CHUNKS = 30;
const CHUNKS = 400;
const LONG = { deadlineMs: 30_000 };
const FRAME = JSON.stringify({ templateCode: 'T', scheduleType: 'DIRECTLY' });

type Closers = Pick<TestContext, 'onTestFinished'>;
type Situation = Awaited<ReturnType<typeof open>>;

/** A worker on a Redis of its own, whose commands can be counted. */
async function open({ onTestFinished }: Closers, before?: (redis: Redis) => Promise<unknown>) {
  const { client: redis, url } = await ownRedis({}, onTestFinished);
  await before?.(redis);
  const env = { ISSUE_DEADLINE_MS: '2000', TOKEN_BUDGET: '3' };
  const worker = await startWorkerInProcess(url, 'cost', env, {}, onTestFinished);
  const queue = new NoticeQueue({ redis: connectionAs('application', url), prefix: 'cost' });
  onTestFinished(() => queue.close());
  /** Commands that Redis has executed, those of scripts included and those of this connection left out. */
  const commands = () => commandCalls(redis);
  return { redis, keys: keysOf('cost', 'default'), worker, queue, commands };
}

const answers =
  (...faults: Fault[]) =>
  ({ worker }: Situation) => {
    for (const fault of faults) worker.emulator.addFault(fault);
    return Promise.resolve();
  };

/** With a token, so that the requests themselves fail. */
async function endService({ queue, worker }: Situation): Promise<void> {
  await queue.send({ templateCode: 'T', contacts: [{ contact: '01099999999' }] });
  await until(() => worker.emulator.record().contacts === 1, { what: 'the first', ...LONG });
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
    const situation = await open({ onTestFinished });
    const { redis, keys, queue, worker, commands } = situation;
    await begin(situation);
    const jobs = numbers(JOBS).map((contact) => ({ templateCode: 'T', contacts: [{ contact }] }));
    await queue.sendMany(jobs);
    const rows = numbers(HELD_CHUNKS, 20_000).map((contact) => ({ contact }));
    await queue.import(rows, { templateCode: 'T', chunkSize: 1 });
    const becomes = (what: string, is: () => Promise<boolean>) => until(is, { what, ...LONG });
    await becomes('nothing to be sent', async () => (await readHold(redis, keys))?.kind === kind);
    // What was fetched before ends first.
    const active = keys.noticesIn('active');
    await becomes('the jobs that were fetched', async () => (await redis.llen(active)) <= 1);
    // Attempts before the hold put hundreds of jobs off; each comes back once.
    const delayed = keys.noticesIn('delayed');
    await becomes('the jobs put off', async () => (await redis.zcard(delayed)) <= PUT_OFF);

    // Changes with each probe, also where the probe finds another kind of hold; 0 where there is none.
    const nextProbeAt = async () => (await readHold(redis, keys))?.nextProbeAt ?? 0;
    let next = await nextProbeAt();
    // With a probe to come, one may be under way at the end.
    let probes = next > 0 ? 1 : 0;
    const before = await commands();
    const startedAt = performance.now();
    const elapsed = () => performance.now() - startedAt;
    do {
      await pause(POLL_MS);
      const last = next;
      next = await nextProbeAt();
      if (next !== last) probes++;
    } while (elapsed() < LEAST_MS || (probes <= PROBES && elapsed() < MOST_MS));
    const most =
      (elapsed() / 1_000) * MOST_PER_SECOND + probes * worker.placesForJobs * MOST_PER_JOB;
    const executed = (await commands()) - before;
    console.log(kind, { executed, most });
    expect(executed).toBeLessThanOrEqual(most);
  },
);

/** A worker with a batch of chunks of one contact that has a rate. */
async function openRated(context: Closers, rate: number) {
  const chunks = Array.from({ length: CHUNKS }, (_, at) => contacts(1, at));
  const situation = await open(context, (redis) =>
    buildBatch(redis, 'cost', 'slow', chunks, { plan: { rate, frame: FRAME } }),
  );
  const requests = () => situation.worker.emulator.record().requests;
  /** Waits for so many more requests. @returns how long they took */
  const sent = async (more: number) => {
    const startedAt = performance.now();
    const wanted = requests() + more;
    await until(() => requests() >= wanted, { what: `${wanted} requests`, ...LONG, everyMs: 50 });
    return performance.now() - startedAt;
  };
  return { ...situation, sent };
}

it.for([
  ['one request a second', 1, 4],
  ['twenty requests a second', 20, 80],
] as const)(
  'a batch with a rate, %s: the chunks that wait cost nothing',
  { timeout: 60_000 },
  async ([, rate, requests], context) => {
    const { sent, commands } = await openRated(context, rate);
    // The start of a worker and the first look at the batch are not part of a request.
    await sent(rate);
    const before = await commands();
    const seconds = (await sent(requests)) / 1_000;
    expect(((await commands()) - before) / requests).toBeLessThanOrEqual(MOST_PER_REQUEST);
    // The rate is kept, and used.
    expect(seconds).toBeGreaterThan((requests / rate) * 0.9);
    expect(seconds).toBeLessThan((requests / rate) * 2);
  },
);

it('a rate that is changed is that of the next second, up and down, also of jobs that wait for turns', async (test) => {
  const { redis, keys, sent } = await openRated(test, 1);
  const ledger = new Ledger(redis, keys);
  const context = { ledger, redis, keys } as OperationContext;
  const set = (rate: number) =>
    changeBatchRate.run(context, { id: 'slow', rate }, { who: 'test', why: 'test' });
  await sent(2);
  expect(await set(40)).toMatchObject({ phase: 'sending', rate: 40 });
  expect(await sent(80)).toBeLessThan(3_500);
  await set(2);
  // Those under way, and one at once.
  await sent(3);
  expect(await sent(4)).toBeGreaterThan(1_200);
  await set(0);
  const isOver = async () => (await ledger.read('slow'))?.counts.accepted === CHUNKS;
  await until(isOver, { what: 'the rest, without a rate', deadlineMs: 8_000 });
}, 60_000);

import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { NoticeQueue } from '../../src/producer/notice-queue.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { nowMs } from '../harness/clock.ts';
import type { MeasuredProcess } from '../harness/measured-process.ts';
import { inTurn, rounded, type Contestant } from '../harness/race.ts';
import { redisUsage, usedBetween } from '../harness/redis-meter.ts';
import type { Stage } from '../harness/stage.ts';
import type { WorkerKind } from '../programs/shared-workers.ts';
import type { SinkTraffic } from '../programs/sink.ts';
import type { Results, SharedRounds } from '../results.ts';
import { CHUNK_SIZE, CONCURRENCY, contactAt, noticeTo, sharedBy, SHARERS } from '../work.ts';
import { importContacts } from './chunks.ts';
import { CHUNK_NOTICES, fillBullmq } from './peers.ts';
import { PAYLOAD_KEY, workerEnv } from './single-sends.ts';

/** The figures of one round. */
type SharedRun = Readonly<Record<keyof SharedRounds, number>>;

/** Workers of one kind, and what waits for them. */
interface Sharer {
  readonly name: string;
  readonly kind: WorkerKind;
  readonly workers: readonly number[];
  /** Jobs that one worker runs at the same time. */
  readonly concurrency: number;
  readonly jobs: number;
  /** Contacts of a job. */
  readonly contactsEach: number;
  /** The key of BullMQ's list of jobs that wait. */
  readonly waiting: string;
  readonly queue: (stage: Stage, jobs: number) => Promise<unknown>;
}

const PREFIX = 'bench';
const KEYS = keysOf(PREFIX, 'default');
/** The machine has few cores: that many processes run all workers. */
const PROCESSES = 4;
const FLEETS = [4, 16, 64];
/** Jobs that are taken after all workers run, before the clock starts. */
const WARM_UP = 500;
/** Jobs that wait when the clock stops: no worker has looked for one in vain. */
const REST = 200;
/** A smaller share of the jobs between start and stop of the clock measures nothing. */
const LEAST_SHARE = 0.1;
/** Often enough, and less than a thousandth of what Redis does meanwhile. */
const LOOK_EVERY_MS = 10;
const LONGEST_MS = 120_000;

/** Calls `add` for each index, as an application with many callers does: each is a call of its own. */
async function oneByOne(count: number, add: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const caller = async () => {
    while (next < count) await add(next++);
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, caller));
}

async function queueOurs(stage: Stage, jobs: number): Promise<void> {
  const queue = new NoticeQueue({
    redis: { url: stage.redisUrl },
    prefix: PREFIX,
    payloadKey: PAYLOAD_KEY,
    enqueueTimeoutMs: 30_000,
  });
  await oneByOne(jobs, (index) => queue.send(noticeTo([contactAt(index)])));
  await queue.close();
}

async function queueBullmq(stage: Stage, jobs: number): Promise<void> {
  const connection = new Redis(stage.redisUrl);
  const queue = new Queue('bare', { connection });
  const opts = { attempts: 3, backoff: { type: 'exponential', delay: 1_000 } };
  await oneByOne(jobs, (index) => queue.add('send', noticeTo([contactAt(index)]), opts));
  await queue.close();
  connection.disconnect();
}

const SINGLES = { workers: FLEETS, concurrency: 8, jobs: 20_000, contactsEach: 1 };
const OURS = { ...SINGLES, waiting: KEYS.noticesIn('wait'), queue: queueOurs };
const BARE = { ...SINGLES, waiting: 'bull:bare:wait', queue: queueBullmq };
// More workers would have sent most chunks before the last of them has started.
const CHUNKS = { workers: [4], concurrency: 2, jobs: 2_000, contactsEach: CHUNK_SIZE };

const CONTESTANTS: readonly Sharer[] = [
  { ...OURS, name: SHARERS.single, kind: 'ours' },
  { ...BARE, name: SHARERS.bullUndici, kind: 'bullmq' },
  { ...OURS, name: SHARERS.light, kind: 'ours-light' },
  { ...BARE, name: SHARERS.lightBullmq, kind: 'bullmq-light' },
  {
    ...CHUNKS,
    name: SHARERS.chunks,
    kind: 'ours',
    waiting: KEYS.waitingChunks,
    queue: (stage, jobs) => importContacts(stage, PREFIX, jobs * CHUNK_SIZE),
  },
  {
    ...CHUNKS,
    name: SHARERS.bullUndiciChunks,
    kind: 'bullmq',
    waiting: 'bull:bare:wait',
    queue: (stage, jobs) => fillBullmq(stage, CHUNK_NOTICES.calls(jobs * CHUNK_SIZE)),
  },
];

/**
 * Lets fleets of several sizes work on one Redis: what a contact costs Redis, which all of them share.
 * Contacts are counted as their jobs leave the list of those that wait.
 *
 * @param stage with the service that looks at nothing
 */
export async function sharing(
  stage: Stage,
  rounds: number,
  say: (line: string) => void,
): Promise<NonNullable<Results['sharing']>> {
  const contestants = CONTESTANTS.flatMap((sharer) =>
    sharer.workers.map((workers): Contestant<SharedRun> => ({
      name: sharedBy(sharer.name, workers),
      run: () => sharedRun(stage, sharer, workers),
    })),
  );
  const all = await inTurn(stage, contestants, rounds, say);
  return Object.fromEntries([...all].map(([name, runs]) => [name, roundsOf(runs)]));
}

async function sharedRun(stage: Stage, sharer: Sharer, workers: number): Promise<SharedRun> {
  const atFirst = await redisUsage(stage.redis);
  await sharer.queue(stage, sharer.jobs);
  const queueing = usedBetween(atFirst, await redisUsage(stage.redis));
  const processes = Array.from({ length: PROCESSES }, () => start(stage, sharer, workers));
  try {
    await Promise.all(processes.map((each) => each.next('prepared')));
    for (const each of processes) each.send({ go: true });
    await Promise.all(processes.map((each) => each.next('running')));
    const look = () => lookAt(stage, sharer, processes);
    const running = await stage.redis.llen(sharer.waiting);
    await untilLeft(stage, sharer, running - Math.min(WARM_UP, Math.ceil(running / 10)));
    const before = await look();
    await untilLeft(stage, sharer, Math.min(REST, Math.ceil(sharer.jobs / 10)));
    const after = await look();
    const jobs = before.left - after.left;
    if (jobs < sharer.jobs * LEAST_SHARE) {
      throw new Error(`${sharer.name}: only ${jobs} jobs were left when all workers ran`);
    }
    const queued = sharer.jobs * sharer.contactsEach;
    return {
      ...figuresBetween(before, after, jobs * sharer.contactsEach),
      queueingCpuUs: (1_000 * queueing.cpuMs) / queued,
      queueingBytes: (queueing.inBytes + queueing.outBytes) / queued,
    };
  } finally {
    await Promise.all(processes.map((each) => each.stop()));
  }
}

function start(stage: Stage, { kind, concurrency }: Sharer, workers: number): MeasuredProcess {
  const args = [stage.redisUrl, stage.serviceUrl, kind];
  return stage.start(
    'bench/programs/shared-workers.js',
    [...args, String(workers / PROCESSES), String(concurrency)],
    {
      ...workerEnv(stage, PREFIX),
      CONCURRENCY: String(concurrency),
      BATCH_CONCURRENCY: String(concurrency),
    },
  );
}

async function untilLeft(stage: Stage, { name, waiting }: Sharer, jobs: number): Promise<void> {
  const deadline = nowMs() + LONGEST_MS;
  for (;;) {
    const left = await stage.redis.llen(waiting);
    if (left <= jobs) return;
    if (nowMs() > deadline) throw new Error(`${name}: ${left} jobs still wait`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}

type Look = Awaited<ReturnType<typeof lookAt>>;

async function lookAt(stage: Stage, { waiting }: Sharer, processes: readonly MeasuredProcess[]) {
  stage.service.send({ record: true });
  const [left, redis, service, used] = await Promise.all([
    stage.redis.llen(waiting).then((jobs) => ({ jobs, atMs: nowMs() })),
    redisUsage(stage.redis),
    stage.service.next<{ record: SinkTraffic }>('record'),
    Promise.all(processes.map((each) => each.usage())),
  ]);
  return {
    left: left.jobs,
    atMs: left.atMs,
    redis,
    service: service.record,
    cpuMs: used.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
  };
}

/** @param sent contacts between the two looks */
function figuresBetween(before: Look, after: Look, sent: number) {
  const redis = usedBetween(before.redis, after.redis);
  return {
    rate: (1_000 * sent) / (after.atMs - before.atMs),
    cpuUs: (1_000 * (after.cpuMs - before.cpuMs)) / sent,
    redisCpuUs: (1_000 * redis.cpuMs) / sent,
    inBytes: redis.inBytes / sent,
    outBytes: redis.outBytes / sent,
    requests: (after.service.requests - before.service.requests) / sent,
    serviceBytes: (after.service.bytes - before.service.bytes) / sent,
  };
}

function roundsOf(runs: readonly SharedRun[]): SharedRounds {
  const each = (name: keyof SharedRun) => runs.map((run) => rounded(run[name]));
  return {
    rate: each('rate'),
    cpuUs: each('cpuUs'),
    redisCpuUs: each('redisCpuUs'),
    inBytes: each('inBytes'),
    outBytes: each('outBytes'),
    queueingCpuUs: each('queueingCpuUs'),
    queueingBytes: each('queueingBytes'),
    requests: each('requests'),
    serviceBytes: each('serviceBytes'),
  };
}

import { CONSTANTS_OF_TESTS } from '../../src/config/config.ts';
import { redisUsage, usedBetween, type RedisUsage } from '../harness/redis-meter.ts';
import type { Stage } from '../harness/stage.ts';
import { count as wholeNumber, table } from '../report/tables.ts';
import { CHUNK_SIZE } from '../work.ts';
import {
  fillBullmq,
  fillOurs,
  importContacts,
  openQueue,
  singleCalls,
  startOurs,
} from './queues.ts';

/** Something that is counted and not timed: the same on every machine. */
export interface Count {
  readonly what: string;
  readonly count: number;
  /** What it must not exceed; undefined for what is only told. */
  readonly atMost?: number;
}

interface EmulatorRecord {
  readonly contacts: number;
  readonly distinct: number | null;
  readonly twice: number | null;
  readonly tokens: { readonly issued: number };
  readonly answers: { readonly send: Readonly<Record<string, number>> };
}

/** What one run of a worker came to. */
interface Run {
  readonly redis: RedisUsage;
  readonly record: EmulatorRecord;
  readonly jsonChars: number;
}

/** Two runs of each kind: what the longer one took more, its jobs took. */
const FEW = 1_000;
const MANY = 4_000;
const FEW_CHUNKS = 100;
const MANY_CHUNKS = 300;
/** What goes by the clock and not by the job stays out of such a short run. */
const SLOW_CLOCKS = {
  [CONSTANTS_OF_TESTS]: JSON.stringify({ worker: { heartbeatMs: 60_000 } }),
  BENCH_COUNT_JSON: '1',
};

/** Counts everything that can be counted. */
export async function counts(stage: Stage): Promise<Count[]> {
  const single = (jobs: number) => counted(stage, jobs, () => fillOurs(jobs, openQueue(stage)));
  const chunked = (chunks: number) =>
    counted(stage, chunks * CHUNK_SIZE, () => importContacts(stage, chunks * CHUNK_SIZE));

  const few = await single(FEW);
  const many = await single(MANY);
  const fewBare = await bare(stage, FEW);
  const manyBare = await bare(stage, MANY);
  const fewChunks = await chunked(FEW_CHUNKS);
  const manyChunks = await chunked(MANY_CHUNKS);
  const each = more(few, many, MANY - FEW);
  const eachBare = (trips(manyBare) - trips(fewBare)) / (MANY - FEW);
  const eachChunk = more(fewChunks, manyChunks, MANY_CHUNKS - FEW_CHUNKS);
  return [
    { what: 'Redis round trips a send', count: each.trips, atMost: 1.02 },
    { what: 'the same of bare BullMQ', count: eachBare },
    { what: 'bytes to Redis a send', count: each.inBytes },
    { what: 'bytes from Redis a send', count: each.outBytes },
    { what: 'requests a send', count: each.requests, atMost: 1 },
    { what: 'Redis round trips a chunk', count: eachChunk.trips, atMost: 3.05 },
    { what: 'requests a chunk', count: eachChunk.requests, atMost: 1 },
    {
      what: `characters of JSON parsed or built by a worker for a chunk of ${CHUNK_SIZE} contacts`,
      count: eachChunk.jsonChars,
      atMost: 4_000,
    },
    { what: 'tokens issued', count: many.record.tokens.issued, atMost: 1 },
    ...sums(many.record, MANY),
    ...sums(manyChunks.record, MANY_CHUNKS * CHUNK_SIZE),
    {
      what: 'bytes in Redis a waiting contact',
      count: await storedBytes(stage, 200, 0),
      atMost: 20,
    },
    {
      what: 'the same with what later lists are compared with',
      count: await storedBytes(stage, 200),
      atMost: 24.5,
    },
  ];
}

function sums({ distinct, twice }: EmulatorRecord, handedOver: number): Count[] {
  return [
    { what: `lost of ${handedOver}`, count: handedOver - (distinct ?? 0), atMost: 0 },
    { what: `sent twice of ${handedOver}`, count: twice ?? 0, atMost: 0 },
  ];
}

/** Bytes that Redis holds for each contact of a batch that waits. */
async function storedBytes(stage: Stage, chunks: number, repeatWindowMs?: number): Promise<number> {
  await stage.clear();
  const before = await redisUsage(stage.redis);
  await importContacts(stage, chunks * CHUNK_SIZE, repeatWindowMs);
  const { memoryBytes } = usedBetween(before, await redisUsage(stage.redis));
  return memoryBytes / (chunks * CHUNK_SIZE);
}

async function counted(stage: Stage, contacts: number, fill: () => Promise<void>): Promise<Run> {
  await stage.clear();
  await fill();
  const before = await redisUsage(stage.redis);
  stage.service.send({ reach: contacts });
  const worker = startOurs(stage, SLOW_CLOCKS);
  await stage.service.next('reached');
  const { jsonChars } = await worker.usage();
  // What ends after the request counts, too.
  await worker.stop();
  stage.service.send({ record: true });
  const { record } = await stage.service.next<{ record: EmulatorRecord }>('record');
  return { redis: usedBetween(before, await redisUsage(stage.redis)), record, jsonChars };
}

async function bare(stage: Stage, jobs: number): Promise<RedisUsage> {
  await stage.clear();
  await fillBullmq(stage, singleCalls(jobs));
  const before = await redisUsage(stage.redis);
  const worker = stage.start('bench/programs/bullmq-noop.js', [stage.redisUrl, String(jobs)]);
  await worker.next('reached');
  await worker.stop();
  return usedBetween(before, await redisUsage(stage.redis));
}

const trips = ({ commands }: RedisUsage) => (commands['evalsha'] ?? 0) + (commands['eval'] ?? 0);

/** What one run took more than another, for each job it did more. */
function more(few: Run, many: Run, jobs: number) {
  const each = (figure: (run: Run) => number) => (figure(many) - figure(few)) / jobs;
  return {
    trips: each(({ redis }) => trips(redis)),
    inBytes: each(({ redis }) => redis.inBytes),
    outBytes: each(({ redis }) => redis.outBytes),
    requests: each(({ record }) => record.answers.send['SUCCESS'] ?? 0),
    jsonChars: each(({ jsonChars }) => jsonChars),
  };
}

/** Counts and their bounds. */
export function countTable(counts: readonly Count[]): string {
  return table(
    ['count', 'measured', 'at most'],
    counts.map(({ what, count: figure, atMost }) => [
      what,
      figure >= 100 ? wholeNumber(figure) : String(Number(figure.toFixed(2))),
      atMost === undefined ? '' : String(atMost),
    ]),
  );
}

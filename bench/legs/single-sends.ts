import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { makeWorkerUtils } from 'graphile-worker';
import PgBoss from 'pg-boss';
import { ROWS } from '../../src/config/variables.ts';
import { NoticeQueue } from '../../src/producer/notice-queue.ts';
import { openBeeQueue } from '../harness/bee-queue.ts';
import type { MeasuredProcess } from '../harness/measured-process.ts';
import type { Stage } from '../harness/stage.ts';
import { awaitTotals, timed, type Timed } from '../harness/timed.ts';
import { CONCURRENCY, notices, WARM_UP } from '../work.ts';

/** One way to get single notices to the service. */
export interface Sender {
  readonly name: string;
  /** Whether this machine and this build have all of it. */
  readonly possible: (stage: Stage) => boolean;
  /** Hands over the work, and starts the program that does it; runs again for each round. */
  readonly run: (stage: Stage, totals: Totals) => Promise<Timed>;
}

interface Totals {
  readonly warm: number;
  readonly all: number;
}

/** Names of the contestants that the table compares. */
export const NAMES = {
  coalescing: 'notice-queue, coalescing',
  alone: 'notice-queue, one contact a request',
  noop: 'BullMQ, no-op',
  axios: 'BullMQ + axios',
  bullUndici: 'BullMQ + undici',
  bullFetch: 'BullMQ + fetch',
  loop: 'client library in a loop',
  fastLoop: 'the same over node:http',
  bee: 'bee-queue + axios',
  graphile: 'graphile-worker + axios',
  graphileUndici: 'graphile-worker + undici',
  pgBoss: 'pg-boss + undici',
  chunks: 'notice-queue',
  undici: 'undici, bare',
  client: 'the service client',
  bareAxios: 'axios, bare',
  importer: 'notice-queue, import',
  csvParse: 'csv-parse, reading alone',
} as const;

const ADD_AT_ONCE = 1_000;
const always = () => true;

/** Whether this build sends notices that wait at the same moment in one request. */
export const CAN_COALESCE = ROWS.some(({ variable }) => variable === 'COALESCE_MAX_CONTACTS');

/** Producers and workers of ours encrypt, as in production. */
export const PAYLOAD_KEY = '42'.repeat(32);

/** The environment of our worker, as its users would set it. */
export function workerEnv(stage: Stage, prefix: string): Record<string, string> {
  return {
    REDIS_URL: stage.redisUrl,
    REDIS_PREFIX: prefix,
    BASE_URL: stage.serviceUrl,
    ACCESS_KEY: 'emulator-access-key',
    SECRET_KEY: 'emulator-secret-key',
    CONCURRENCY: String(CONCURRENCY),
    BATCH_CONCURRENCY: String(CONCURRENCY),
    PAYLOAD_KEY,
  };
}

/** Fills a queue as a user of BullMQ does. */
export async function fillBullmq(
  stage: Stage,
  data: readonly object[],
  atOnce = ADD_AT_ONCE,
): Promise<void> {
  const connection = new Redis(stage.redisUrl);
  const queue = new Queue('bare', { connection });
  const opts = { attempts: 3, backoff: { type: 'exponential', delay: 1_000 } };
  for (let at = 0; at < data.length; at += atOnce) {
    await queue.addBulk(
      data.slice(at, at + atOnce).map((each) => ({ name: 'send', data: each, opts })),
    );
  }
  await queue.close();
  connection.disconnect();
}

export async function fillOurs(stage: Stage, prefix: string, count: number): Promise<void> {
  const queue = new NoticeQueue({
    redis: { url: stage.redisUrl },
    prefix,
    payloadKey: PAYLOAD_KEY,
  });
  for (let from = 0; from < count; from += ADD_AT_ONCE) {
    await queue.sendMany(notices(Math.min(ADD_AT_ONCE, count - from), from));
  }
  await queue.close();
}

/** Starts our worker program, the very one that `notices worker` is. */
export function startOurs(
  stage: Stage,
  prefix: string,
  env: Readonly<Record<string, string>> = {},
  args: readonly string[] = [],
): MeasuredProcess {
  return stage.start('src/cli/main.js', ['worker', ...args], {
    ...workerEnv(stage, prefix),
    ...env,
  });
}

/** Runs a process while it works through what waits for it, and ends it. */
export async function worked(
  stage: Stage,
  process: MeasuredProcess,
  teller: MeasuredProcess,
  totals: Totals,
): Promise<Timed> {
  try {
    return await timed(stage, process, teller, totals);
  } finally {
    await process.stop();
  }
}

const ours = (name: string, coalesce: number, possible: () => boolean): Sender => ({
  name,
  possible,
  run: async (stage, totals) => {
    const prefix = 'bench';
    await fillOurs(stage, prefix, totals.all);
    awaitTotals(stage, totals);
    const worker = startOurs(stage, prefix, { COALESCE_MAX_CONTACTS: String(coalesce) });
    return worked(stage, worker, stage.service, totals);
  },
});

const bare = (name: string, program: string): Sender => ({
  name,
  possible: always,
  run: async (stage, totals) => {
    await fillBullmq(stage, notices(totals.all));
    const counts = program === 'bullmq-noop';
    if (!counts) awaitTotals(stage, totals);
    const worker = stage.start(`bench/programs/${program}.js`, [
      stage.redisUrl,
      stage.serviceUrl,
      String(totals.warm),
      String(totals.all),
    ]);
    return worked(stage, worker, counts ? worker : stage.service, totals);
  },
});

/** A plain loop over a client library, which stands on fetch or on node:http. */
export const loop = (
  kind: 'singles' | 'chunks',
  contactsEach: number,
  over: 'fetch' | 'node:http' = 'fetch',
): Sender => ({
  name: over === 'fetch' ? NAMES.loop : NAMES.fastLoop,
  possible: always,
  run: async (stage, totals) => {
    const calls = totals.all / contactsEach;
    const args = [stage.redisUrl, stage.serviceUrl, kind, String(calls), over];
    const process = stage.start('bench/programs/loop.js', args);
    await process.next('ready');
    awaitTotals(stage, totals);
    process.send({ go: true });
    return worked(stage, process, stage.service, totals);
  },
});

const beeQueue: Sender = {
  name: NAMES.bee,
  possible: always,
  run: async (stage, totals) => {
    const queue = openBeeQueue(stage.redisUrl, false);
    const jobs = notices(totals.all).map((notice) => queue.createJob(notice));
    for (let at = 0; at < jobs.length; at += ADD_AT_ONCE) {
      await queue.saveAll(jobs.slice(at, at + ADD_AT_ONCE));
    }
    await queue.close();
    awaitTotals(stage, totals);
    const args = [stage.redisUrl, stage.serviceUrl];
    const worker = stage.start('bench/programs/bee-queue-axios.js', args);
    return worked(stage, worker, stage.service, totals);
  },
};

const graphile = (name: string, program: string): Sender => ({
  name,
  possible: ({ postgresUrl }) => postgresUrl !== undefined,
  run: async (stage, totals) => {
    const url = stage.postgresUrl ?? '';
    const utils = await makeWorkerUtils({ connectionString: url });
    await utils.migrate();
    const jobs = notices(totals.all).map((payload) => ({ identifier: 'bare', payload }));
    for (let at = 0; at < jobs.length; at += ADD_AT_ONCE) {
      await utils.addJobs(jobs.slice(at, at + ADD_AT_ONCE));
    }
    await utils.release();
    awaitTotals(stage, totals);
    const worker = stage.start(`bench/programs/${program}.js`, [url, stage.serviceUrl]);
    return worked(stage, worker, stage.service, totals);
  },
});

const pgBoss: Sender = {
  name: NAMES.pgBoss,
  possible: ({ postgresUrl }) => postgresUrl !== undefined,
  run: async (stage, totals) => {
    const url = stage.postgresUrl ?? '';
    const boss = new PgBoss({ connectionString: url, supervise: false, schedule: false });
    await boss.start();
    await boss.createQueue('bare');
    const jobs = notices(totals.all).map((data) => ({ name: 'bare', data }));
    for (let at = 0; at < jobs.length; at += ADD_AT_ONCE) {
      await boss.insert(jobs.slice(at, at + ADD_AT_ONCE));
    }
    await boss.stop();
    awaitTotals(stage, totals);
    const worker = stage.start('bench/programs/pg-boss-undici.js', [url, stage.serviceUrl]);
    return worked(stage, worker, stage.service, totals);
  },
};

export const SENDERS: readonly Sender[] = [
  bare(NAMES.axios, 'bullmq-axios'),
  bare(NAMES.bullUndici, 'bullmq-undici'),
  bare(NAMES.bullFetch, 'bullmq-fetch'),
  ours(NAMES.alone, 1, always),
  ours(NAMES.coalescing, 100, () => CAN_COALESCE),
  bare(NAMES.noop, 'bullmq-noop'),
  loop('singles', 1),
  loop('singles', 1, 'node:http'),
  beeQueue,
  graphile(NAMES.graphile, 'graphile-axios'),
  graphile(NAMES.graphileUndici, 'graphile-undici'),
  pgBoss,
];

/** What waits in every round of the leg. */
export const singleTotals = (measured: number): Totals => ({
  warm: WARM_UP.singles,
  all: WARM_UP.singles + measured,
});

import { NoticeQueue } from '../../src/producer/notice-queue.ts';
import type { MeasuredProcess } from '../harness/measured-process.ts';
import type { Stage } from '../harness/stage.ts';
import { awaitTotals, timed, type Timed } from '../harness/timed.ts';
import { CONCURRENCY, notices, WARM_UP } from '../work.ts';
import {
  beeQueue,
  bullmq,
  fillBullmq,
  graphile,
  pgBoss,
  sealedBullmq,
  SINGLE_NOTICES,
  type Load,
  type Peer,
} from './peers.ts';

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
  alone: 'notice-queue, one contact a request',
  sealed: 'notice-queue, with PAYLOAD_KEY',
  debug: 'notice-queue, LOG_LEVEL=debug',
  noop: 'BullMQ, no-op',
  axios: 'BullMQ + axios',
  bullUndici: 'BullMQ + undici',
  sealedAxios: 'BullMQ + axios, encrypting and logging',
  sealedUndici: 'BullMQ + undici, encrypting and logging',
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

export async function fillOurs(
  stage: Stage,
  prefix: string,
  count: number,
  payloadKey = PAYLOAD_KEY,
): Promise<void> {
  const queue = new NoticeQueue({
    redis: { url: stage.redisUrl },
    prefix,
    ...(payloadKey === '' ? {} : { payloadKey }),
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

/** @param env of the worker, beside what it needs; PAYLOAD_KEY is also that of the producer, none by default */
const ours = (name: string, env: Readonly<Record<string, string>> = {}): Sender => ({
  name,
  possible: always,
  run: async (stage, totals) => {
    const prefix = 'bench';
    const { PAYLOAD_KEY: payloadKey = '' } = env;
    await fillOurs(stage, prefix, totals.all, payloadKey);
    awaitTotals(stage, totals);
    const worker = startOurs(stage, prefix, { ...env, PAYLOAD_KEY: payloadKey });
    return worked(stage, worker, stage.service, totals);
  },
});

/** Another queue as a contestant. */
export const peer = (name: string, { needsPostgres, fill, start }: Peer, load: Load): Sender => ({
  name,
  possible: ({ postgresUrl }) => !needsPostgres || postgresUrl !== undefined,
  run: async (stage, totals) => {
    await fill(stage, load.calls(totals.all));
    awaitTotals(stage, totals);
    return worked(stage, start(stage, load.kind), stage.service, totals);
  },
});

const single = (name: string, queue: Peer): Sender => peer(name, queue, SINGLE_NOTICES);

/** It sends nothing: it counts itself. */
const noop: Sender = {
  name: NAMES.noop,
  possible: always,
  run: async (stage, totals) => {
    await fillBullmq(stage, SINGLE_NOTICES.calls(totals.all));
    const args = [stage.redisUrl, stage.serviceUrl, String(totals.warm), String(totals.all)];
    const worker = stage.start('bench/programs/bullmq-noop.js', args);
    return worked(stage, worker, worker, totals);
  },
};

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

export const SENDERS: readonly Sender[] = [
  single(NAMES.axios, bullmq('bullmq-axios')),
  single(NAMES.bullUndici, bullmq('bullmq-undici')),
  single(NAMES.bullFetch, bullmq('bullmq-fetch')),
  single(NAMES.sealedUndici, sealedBullmq('undici')),
  single(NAMES.sealedAxios, sealedBullmq('axios')),
  ours(NAMES.alone),
  ours(NAMES.sealed, { PAYLOAD_KEY }),
  ours(NAMES.debug, { LOG_LEVEL: 'debug' }),
  noop,
  loop('singles', 1),
  loop('singles', 1, 'node:http'),
  single(NAMES.bee, beeQueue),
  single(NAMES.graphile, graphile('graphile-axios')),
  single(NAMES.graphileUndici, graphile('graphile-undici')),
  single(NAMES.pgBoss, pgBoss),
];

/** What waits in every round of the leg. */
export const singleTotals = (measured: number): Totals => ({
  warm: WARM_UP.singles,
  all: WARM_UP.singles + measured,
});

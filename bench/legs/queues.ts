/** The contestants of the races: our worker, and BullMQ with a worker as its users write it. */
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import type { Notice } from '../../src/contracts/notice.ts';
import { NoticeQueue } from '../../src/producer/notice-queue.ts';
import type { MeasuredProcess } from '../harness/measured-process.ts';
import type { Contestant } from '../harness/race.ts';
import type { Stage } from '../harness/stage.ts';
import { timed, type Totals } from '../harness/timed.ts';
import { sealNotice } from '../programs/sealed-notice.ts';
import { CHUNK_SIZE, chunkAt, CONCURRENCY, contactAt, notices, noticeTo } from '../work.ts';

/** Producers and workers of ours encrypt, as in production. */
const PAYLOAD_KEY = '42'.repeat(32);
export const AXIOS = 'BullMQ + axios';
export const UNDICI = 'BullMQ + undici';
const SINGLES_PER_CALL = 1_000;
/** More jobs of a thousand contacts in one call are slower (measured). */
const CHUNKS_PER_CALL = 10;

/** Notices to one contact each; each array is added in one call. */
export function* singleCalls(contacts: number): Generator<Notice[]> {
  for (let from = 0; from < contacts; from += SINGLES_PER_CALL) {
    yield notices(Math.min(SINGLES_PER_CALL, contacts - from), from);
  }
}

function* chunkCalls(contacts: number): Generator<Notice[]> {
  const chunks = contacts / CHUNK_SIZE;
  for (let from = 0; from < chunks; from += CHUNKS_PER_CALL) {
    const length = Math.min(CHUNKS_PER_CALL, chunks - from);
    yield Array.from({ length }, (_, offset) => noticeTo(chunkAt(from + offset)));
  }
}

/** Fills a queue as a user of BullMQ does. */
export async function fillBullmq(
  stage: Stage,
  calls: Iterable<readonly Notice[]>,
  jobOf: (notice: Notice) => object = (notice) => notice,
): Promise<void> {
  const connection = new Redis(stage.redisUrl);
  const queue = new Queue('bare', { connection });
  const opts = { attempts: 3, backoff: { type: 'exponential', delay: 1_000 } };
  for (const some of calls) {
    await queue.addBulk(some.map((notice) => ({ name: 'send', data: jobOf(notice), opts })));
  }
  await queue.close();
  connection.disconnect();
}

/** A producer of ours. */
export const openQueue = (stage: Stage, options: { repeatWindowMs?: number } = {}) =>
  new NoticeQueue({
    redis: { url: stage.redisUrl },
    prefix: 'bench',
    payloadKey: PAYLOAD_KEY,
    ...options,
  });

/** Adds single notices. @param queue it is closed at the end */
export async function fillOurs(count: number, queue: NoticeQueue): Promise<void> {
  for (const some of singleCalls(count)) await queue.sendMany(some);
  await queue.close();
}

/**
 * Imports a batch of so many contacts, sealed; it is not sent yet.
 *
 * @param repeatWindowMs how long the list is compared with later ones. Default: as installed
 */
export async function importContacts(
  stage: Stage,
  count: number,
  repeatWindowMs?: number,
): Promise<void> {
  function* contacts() {
    for (let index = 0; index < count; index++) yield contactAt(index);
  }
  const queue = openQueue(stage, repeatWindowMs === undefined ? {} : { repeatWindowMs });
  await queue.import(contacts(), {
    templateCode: 'ORDER_SHIPPED',
    chunkSize: CHUNK_SIZE,
    highWater: 10_000_000,
  });
  await queue.close();
}

/** Starts our worker program, the very one that `notices worker` is, set as its users would. */
export function startOurs(
  stage: Stage,
  env: Readonly<Record<string, string>> = {},
): MeasuredProcess {
  return stage.start('src/cli/main.js', ['worker'], {
    REDIS_URL: stage.redisUrl,
    REDIS_PREFIX: 'bench',
    BASE_URL: stage.serviceUrl,
    ACCESS_KEY: 'emulator-access-key',
    SECRET_KEY: 'emulator-secret-key',
    CONCURRENCY: String(CONCURRENCY),
    BATCH_CONCURRENCY: String(CONCURRENCY),
    PAYLOAD_KEY,
    ...env,
  });
}

type Sender = readonly [
  name: string,
  fill: (stage: Stage, contacts: number) => Promise<void>,
  start: (stage: Stage) => MeasuredProcess,
];

function ours(name: string, env: Readonly<Record<string, string>> = {}): Sender {
  const { PAYLOAD_KEY: payloadKey = '' } = env;
  const fill = (stage: Stage, contacts: number) => {
    if (payloadKey !== '') return fillOurs(contacts, openQueue(stage));
    const plain = new NoticeQueue({ redis: { url: stage.redisUrl }, prefix: 'bench' });
    return fillOurs(contacts, plain);
  };
  return [name, fill, (stage) => startOurs(stage, { PAYLOAD_KEY: '', ...env })];
}

export const startBullmq = (stage: Stage, client: string, sealed = 'plain') =>
  stage.start('bench/programs/bullmq-worker.js', [
    stage.redisUrl,
    stage.serviceUrl,
    client,
    sealed,
  ]);

function bullmq(name: string, client: 'axios' | 'undici', calls = singleCalls): Sender {
  const fill = (stage: Stage, contacts: number) => fillBullmq(stage, calls(contacts));
  return [name, fill, (stage) => startBullmq(stage, client)];
}

function sealed(client: 'axios' | 'undici'): Sender {
  const fill = (stage: Stage, contacts: number) =>
    fillBullmq(stage, singleCalls(contacts), sealNotice);
  const name = `BullMQ + ${client}, encrypting and logging`;
  return [name, fill, (stage) => startBullmq(stage, client, 'sealed')];
}

/** One contact a request. */
export const SINGLE_SENDERS: readonly Sender[] = [
  bullmq(AXIOS, 'axios'),
  bullmq(UNDICI, 'undici'),
  sealed('undici'),
  sealed('axios'),
  ours('notice-queue, one contact a request'),
  ours('notice-queue, with PAYLOAD_KEY', { PAYLOAD_KEY }),
  ours('notice-queue, LOG_LEVEL=debug', { LOG_LEVEL: 'debug' }),
];

/** The same contacts in the same chunks, by each; figures are per contact. */
export const CHUNK_SENDERS: readonly Sender[] = [
  bullmq(AXIOS, 'axios', chunkCalls),
  bullmq(UNDICI, 'undici', chunkCalls),
  ['notice-queue', importContacts, startOurs],
];

/** Senders as contestants of a race: everything is queued before the clock starts. */
export const contestants = (
  stage: Stage,
  senders: readonly Sender[],
  totals: Totals,
): Contestant[] =>
  senders.map(([name, fill, start]) => ({
    name,
    run: async () => {
      await fill(stage, totals.all);
      return timed(stage, () => start(stage), totals);
    },
  }));

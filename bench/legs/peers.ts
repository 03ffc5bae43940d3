import { Queue } from 'bullmq';
import { makeWorkerUtils } from 'graphile-worker';
import { Redis } from 'ioredis';
import PgBoss from 'pg-boss';
import type { Notice } from '../../src/contracts/notice.ts';
import { openBeeQueue } from '../harness/bee-queue.ts';
import type { MeasuredProcess } from '../harness/measured-process.ts';
import type { Stage } from '../harness/stage.ts';
import { sealNotice } from '../programs/sealed-notice.ts';
import { CHUNK_SIZE, chunkAt, notices, noticeTo } from '../work.ts';

/** What waits in a queue: notices to one contact each, or to a chunk of contacts. */
export interface Load {
  /** Argument of a worker program: how many jobs it fetches at once may depend on it. */
  readonly kind: 'singles' | 'chunks';
  /** The notices to so many contacts; each array is added in one call. */
  readonly calls: (contacts: number) => Iterable<readonly Notice[]>;
}

const SINGLES_PER_CALL = 1_000;
/** More jobs of a thousand contacts in one call are slower (measured). */
const CHUNKS_PER_CALL = 10;

/** Notices to one contact each. */
export const SINGLE_NOTICES: Load = {
  kind: 'singles',
  calls: function* (contacts) {
    for (let from = 0; from < contacts; from += SINGLES_PER_CALL) {
      yield notices(Math.min(SINGLES_PER_CALL, contacts - from), from);
    }
  },
};

/** Notices to {@link CHUNK_SIZE} contacts each. */
export const CHUNK_NOTICES: Load = {
  kind: 'chunks',
  calls: function* (contacts) {
    const chunks = contacts / CHUNK_SIZE;
    for (let from = 0; from < chunks; from += CHUNKS_PER_CALL) {
      const length = Math.min(CHUNKS_PER_CALL, chunks - from);
      yield Array.from({ length }, (_, offset) => noticeTo(chunkAt(from + offset)));
    }
  },
};

/** Another queue, with a worker as its users write it. */
export interface Peer {
  readonly needsPostgres: boolean;
  /** Adds the jobs. */
  readonly fill: (stage: Stage, calls: Iterable<readonly Notice[]>) => Promise<void>;
  /** Starts the worker program. */
  readonly start: (stage: Stage, kind: Load['kind']) => MeasuredProcess;
}

/** BullMQ. @param program its worker in bench/programs */
export function bullmq(program: string): Peer {
  return { needsPostgres: false, fill: fillBullmq, start: onRedis(program) };
}

/** BullMQ whose jobs are encrypted, with a log line for each notice. */
export function sealedBullmq(client: 'axios' | 'undici'): Peer {
  return {
    needsPostgres: false,
    fill: (stage, calls) => fillBullmq(stage, calls, sealNotice),
    start: onRedis('bullmq-sealed', client),
  };
}

/** bee-queue with axios. */
export const beeQueue: Peer = {
  needsPostgres: false,
  fill: async (stage, calls) => {
    const queue = openBeeQueue(stage.redisUrl, false);
    for (const some of calls) await queue.saveAll(some.map((notice) => queue.createJob(notice)));
    await queue.close();
  },
  start: onRedis('bee-queue-axios'),
};

/** graphile-worker. @param program its worker in bench/programs */
export function graphile(program: string): Peer {
  return {
    needsPostgres: true,
    fill: async (stage, calls) => {
      const utils = await makeWorkerUtils({ connectionString: stage.postgresUrl ?? '' });
      await utils.migrate();
      for (const some of calls) {
        await utils.addJobs(some.map((payload) => ({ identifier: 'bare', payload })));
      }
      await utils.release();
    },
    start: onPostgres(program),
  };
}

/** pg-boss with undici. */
export const pgBoss: Peer = {
  needsPostgres: true,
  fill: async (stage, calls) => {
    const connectionString = stage.postgresUrl ?? '';
    const boss = new PgBoss({ connectionString, supervise: false, schedule: false });
    await boss.start();
    await boss.createQueue('bare');
    for (const some of calls) await boss.insert(some.map((data) => ({ name: 'bare', data })));
    await boss.stop();
  },
  start: onPostgres('pg-boss-undici'),
};

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

function onRedis(program: string, ...more: readonly string[]): Peer['start'] {
  return (stage, kind) =>
    stage.start(`bench/programs/${program}.js`, [stage.redisUrl, stage.serviceUrl, kind, ...more]);
}

function onPostgres(program: string): Peer['start'] {
  return (stage, kind) =>
    stage.start(`bench/programs/${program}.js`, [stage.postgresUrl ?? '', stage.serviceUrl, kind]);
}

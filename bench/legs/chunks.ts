import { NoticeQueue } from '../../src/producer/notice-queue.ts';
import type { Stage } from '../harness/stage.ts';
import { awaitTotals } from '../harness/timed.ts';
import { CHUNK_SIZE, chunkAt, contactAt, noticeTo, WARM_UP } from '../work.ts';
import {
  fillBullmq,
  loop,
  NAMES,
  startOurs,
  worked,
  PAYLOAD_KEY,
  type Sender,
} from './single-sends.ts';

/** Jobs of a thousand contacts that are added in one call; more are slower (measured). */
const ADD_AT_ONCE = 10;

function* contacts(count: number): Generator<ReturnType<typeof contactAt>> {
  for (let index = 0; index < count; index++) yield contactAt(index);
}

/** Imports a batch of so many contacts, sealed; nobody sends it yet. */
export async function importContacts(stage: Stage, prefix: string, count: number): Promise<string> {
  const queue = new NoticeQueue({
    redis: { url: stage.redisUrl },
    prefix,
    payloadKey: PAYLOAD_KEY,
  });
  const { batch } = await queue.import(contacts(count), {
    templateCode: 'ORDER_SHIPPED',
    chunkSize: CHUNK_SIZE,
    highWater: 10_000_000,
  });
  await queue.close();
  return batch;
}

const ours: Sender = {
  name: NAMES.chunks,
  possible: () => true,
  run: async (stage, totals) => {
    await importContacts(stage, 'bench', totals.all);
    awaitTotals(stage, totals);
    return worked(stage, startOurs(stage, 'bench'), stage.service, totals);
  },
};

const bullmq = (name: string, program: string): Sender => ({
  name,
  possible: () => true,
  run: async (stage, totals) => {
    const chunks = totals.all / CHUNK_SIZE;
    for (let chunk = 0; chunk < chunks; chunk += 100) {
      const some = Array.from({ length: Math.min(100, chunks - chunk) }, (_, offset) =>
        noticeTo(chunkAt(chunk + offset)),
      );
      await fillBullmq(stage, some, ADD_AT_ONCE);
    }
    awaitTotals(stage, totals);
    const args = [stage.redisUrl, stage.serviceUrl];
    const worker = stage.start(`bench/programs/${program}.js`, args);
    return worked(stage, worker, stage.service, totals);
  },
});

/** The same contacts in the same chunks, by each contestant; figures are per contact. */
export const CHUNK_SENDERS: readonly Sender[] = [
  bullmq(NAMES.axios, 'bullmq-axios'),
  bullmq(NAMES.bullUndici, 'bullmq-undici'),
  ours,
  loop('chunks', CHUNK_SIZE),
  loop('chunks', CHUNK_SIZE, 'node:http'),
];

/** What waits in every round of the leg, in contacts. */
export const chunkTotals = (contacts: number) => ({
  warm: WARM_UP.chunks * CHUNK_SIZE,
  all: WARM_UP.chunks * CHUNK_SIZE + contacts,
});

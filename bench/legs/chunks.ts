import { NoticeQueue } from '../../src/producer/notice-queue.ts';
import type { Stage } from '../harness/stage.ts';
import { awaitTotals } from '../harness/timed.ts';
import { CHUNK_SIZE, contactAt, WARM_UP } from '../work.ts';
import { bullmq, CHUNK_NOTICES, graphile, pgBoss, type Peer } from './peers.ts';
import { loop, NAMES, PAYLOAD_KEY, peer, startOurs, worked, type Sender } from './single-sends.ts';

function* contacts(count: number): Generator<ReturnType<typeof contactAt>> {
  for (let index = 0; index < count; index++) yield contactAt(index);
}

/**
 * Imports a batch of so many contacts, sealed; it is not sent yet.
 *
 * @param repeatWindowMs how long the list is compared with later ones. Default: as installed
 */
export async function importContacts(
  stage: Stage,
  prefix: string,
  count: number,
  repeatWindowMs?: number,
): Promise<string> {
  const queue = new NoticeQueue({
    redis: { url: stage.redisUrl },
    prefix,
    payloadKey: PAYLOAD_KEY,
    ...(repeatWindowMs === undefined ? {} : { repeatWindowMs }),
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

const chunked = (name: string, queue: Peer): Sender => peer(name, queue, CHUNK_NOTICES);

/** The same contacts in the same chunks, by each contestant; figures are per contact. */
export const CHUNK_SENDERS: readonly Sender[] = [
  chunked(NAMES.axios, bullmq('bullmq-axios')),
  chunked(NAMES.bullUndici, bullmq('bullmq-undici')),
  chunked(NAMES.bullFetch, bullmq('bullmq-fetch')),
  ours,
  loop('chunks', CHUNK_SIZE),
  loop('chunks', CHUNK_SIZE, 'node:http'),
  chunked(NAMES.graphileUndici, graphile('graphile-undici')),
  chunked(NAMES.pgBoss, pgBoss),
];

/** What waits in every round of the leg, in contacts. */
export const chunkTotals = (contacts: number) => ({
  warm: WARM_UP.chunks * CHUNK_SIZE,
  all: WARM_UP.chunks * CHUNK_SIZE + contacts,
});

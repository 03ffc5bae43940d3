import type { Queue } from 'bullmq';
import {
  CHUNK_JOB_NAME,
  CHUNK_JOB_VERSION,
  chunkJobId,
  type ChunkJobData,
} from '../../contracts/chunk-job.ts';
import { redisFailure } from '../../redis/failure.ts';
import type { Ledger } from '../ledger/ledger.ts';

/** Jobs of one `addBulk` call: measured, the fastest number of small jobs. */
const CHUNKS_PER_CALL = 500;

/**
 * Adds a job for every chunk of a batch that has none, and then records that in the ledger. After a
 * crash in between the chunks are queued again, which changes nothing: the job of a chunk always has
 * the same id. Settled chunks get no job.
 *
 * Jobs contain no retention: the worker decides how long finished jobs are kept.
 *
 * @param queue the BullMQ queue CHUNK_QUEUE_NAME of the account
 * @throws NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED; safe to repeat
 */
export async function queueChunks(ledger: Ledger, queue: Queue, id: string): Promise<void> {
  for (;;) {
    const range = await ledger.unqueued(id, CHUNKS_PER_CALL);
    if (range === undefined) return;
    const { first, end } = range;
    const states = await ledger.states(id, first, end);
    const jobs = states.flatMap((state, index) =>
      state === 'settled' || state === 'none' ? [] : [jobOf(id, first + index)],
    );
    try {
      if (jobs.length > 0) await queue.addBulk(jobs);
    } catch (error) {
      throw redisFailure(error);
    }
    await ledger.markQueued(id, first, end);
  }
}

function jobOf(batch: string, chunk: number) {
  const data: ChunkJobData = { v: CHUNK_JOB_VERSION, batch, chunk };
  return { name: CHUNK_JOB_NAME, data, opts: { jobId: chunkJobId(data) } };
}

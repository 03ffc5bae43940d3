import type { Queue } from 'bullmq';
import {
  CHUNK_JOB_NAME,
  CHUNK_JOB_VERSION,
  chunkJobId,
  type ChunkJobData,
} from '../../contracts/chunk-job.ts';
import { redisFailure } from '../../redis/failure.ts';
import type { Ledger } from '../ledger/ledger.ts';

/** `addBulk` is fastest, and its answer soonest back, at this many small jobs in one call. */
const CHUNKS_AT_ONCE = 500;

/**
 * Gives a job to every chunk of a batch that lacks one, and only then says so in the ledger: whoever
 * dies in between leaves chunks that are queued again. A job that is there already stays as it is,
 * for a chunk's job always has the same id. Chunks that are settled need none.
 *
 * How long a finished job is kept is the worker's business and stands in no job.
 *
 * @param queue BullMQ's queue CHUNK_QUEUE_NAME under the account's prefix
 * @throws NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED; safe to repeat
 */
export async function queueChunks(ledger: Ledger, queue: Queue, id: string): Promise<void> {
  for (;;) {
    const range = await ledger.unqueued(id, CHUNKS_AT_ONCE);
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

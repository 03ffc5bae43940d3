import type { Job, Queue } from 'bullmq';
import { CHUNK_JOB_NAME, CHUNK_JOB_VERSION, chunkJobId } from '../../contracts/job.ts';
import { translated } from '../../redis/failure.ts';
import type { ChunksWithoutJob, Ledger } from '../ledger/ledger.ts';

/** Jobs of one `addBulk` call: measured, the fastest number of small jobs. */
const CHUNKS_PER_CALL = 500;

/**
 * A batch with a rate gets jobs for this time ahead, in milliseconds; workers add the next ones
 * (batch-walker.ts). So pausing or cancelling it leaves few jobs behind, and an outage few that are late.
 */
export const JOBS_AHEAD_MS = 30_000;

/**
 * Adds a job for every chunk of a batch that needs one, and then records that in the ledger. After a crash in between
 * they are added again, which changes nothing: the job of a chunk always has the same id.
 *
 * @param aheadMs for how long ahead a batch with a rate gets jobs
 */
export async function queueChunks(
  ledger: Ledger,
  queue: Queue,
  id: string,
  aheadMs = JOBS_AHEAD_MS,
): Promise<void> {
  let next: ChunksWithoutJob | undefined;
  for (;;) {
    next = await ledger.chunksWithoutJob(id, CHUNKS_PER_CALL, aheadMs, next);
    if (next === undefined) return;
    const jobs = jobsOf(id, next);
    if (jobs.length > 0) await translated(queue.addBulk(jobs));
  }
}

/** Parts of refused chunks go first: which contacts are refused is found before more chunks are sent. */
function jobsOf(batch: string, { chunks, now, ofList }: ChunksWithoutJob) {
  const parts = chunks.filter(({ chunk }) => chunk >= ofList);
  // The last one that is added in front is taken first.
  const inOrder = [...chunks.slice(0, chunks.length - parts.length), ...parts.reverse()];
  return inOrder.map(({ chunk, dueAt }) => {
    const data = { v: CHUNK_JOB_VERSION, batch, chunk };
    const jobId = chunkJobId(data);
    // In Redis time: the clock of an importer may be wrong.
    const opts =
      dueAt > now
        ? { jobId, delay: dueAt - now, timestamp: now }
        : { jobId, ...(chunk >= ofList ? { lifo: true } : {}) };
    return { name: CHUNK_JOB_NAME, data, opts };
  });
}

/** Removes the jobs of a batch that failed by a defect: the chunk of a kept job could not get another one. */
export async function removeFailedJobs(queue: Queue, batch: string): Promise<void> {
  for (let from = 0; ;) {
    const failed = await translated(queue.getFailed(from, from + CHUNKS_PER_CALL - 1));
    if (failed.length === 0) return;
    const own = failed.filter((job) => batchOf(job) === batch);
    await translated(Promise.all(own.map(async (job) => job.remove())));
    from += failed.length - own.length;
  }
}

/**
 * Makes the jobs of a batch due that wait for their first attempt: its rate was changed, and their claims give them
 * other turns. Those that were tried keep their time.
 */
export async function promoteJobs(queue: Queue, batch: string): Promise<void> {
  // All are read before the first is promoted: it is delayed again when it meets its new turn.
  const own: Job[] = [];
  for (let from = 0; ; from += CHUNKS_PER_CALL) {
    const delayed = await translated(queue.getDelayed(from, from + CHUNKS_PER_CALL - 1));
    if (delayed.length === 0) break;
    own.push(...delayed.filter((job) => batchOf(job) === batch && job.attemptsMade === 0));
  }
  // Another process may have taken it meanwhile.
  for (const job of own) await translated(job.promote().catch(ignoreReply));
}

const batchOf = ({ data }: Job): unknown => (data as { batch?: unknown } | null)?.batch;

/** @throws the error, unless it is BullMQ's own answer of a script */
function ignoreReply(error: unknown): void {
  if (typeof (error as { code?: unknown }).code !== 'number') throw error;
}

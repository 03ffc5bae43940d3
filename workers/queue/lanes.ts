import type { WorkerConfig } from '../../src/config/config.ts';
import { CHUNK_QUEUE_NAME, QUEUE_NAME } from '../../src/redis/keys.ts';
import type { Lane } from './send-worker.ts';

/**
 * Notices that a process holds to make groups of them, at most: enough for several requests while
 * others are under way and others end. Each may be sent twice when the process dies.
 */
const MOST_NOTICES = 256;

/** Accepted notices kept for a look back, at most, whatever their age. */
const KEEP_ACCEPTED_COUNT = 10_000;

/**
 * The two lanes of a worker process. Each has slots of its own, so that a notice somebody waits for
 * never stands behind a batch, and a batch moves however many notices there are.
 *
 * Jobs of chunks are not kept: the ledger knows what became of them, and their ids must be free for
 * a resumed batch.
 */
export function lanesOf(config: WorkerConfig): { readonly notices: Lane; readonly chunks: Lane } {
  const inRequests = config.concurrency * config.coalesceMaxContacts;
  const keepFailed = { age: seconds(config.keepFailedMs) };
  return {
    notices: {
      queueName: QUEUE_NAME,
      concurrency: config.concurrency,
      mostJobs: Math.max(config.concurrency, Math.min(MOST_NOTICES, inRequests)),
      keepDone: { age: seconds(config.keepAcceptedMs), count: KEEP_ACCEPTED_COUNT },
      keepFailed,
    },
    chunks: {
      queueName: CHUNK_QUEUE_NAME,
      concurrency: config.batchConcurrency,
      mostJobs: config.batchConcurrency,
      keepDone: { count: 0 },
      keepFailed,
    },
  };
}

/** BullMQ counts ages in seconds. */
const seconds = (ms: number) => Math.ceil(ms / 1_000);

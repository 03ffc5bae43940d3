import type { BackgroundService } from '../../src/async/lifecycle.ts';
import { restartAfterMs } from '../../src/batch/ledger/batch-motion.ts';
import type { Ledger } from '../../src/batch/ledger/ledger.ts';
import {
  JOBS_AHEAD_MS,
  queueChunks,
  removeFailedJobs,
} from '../../src/batch/import/queue-chunks.ts';
import { readHold } from '../../src/fleet/hold/holds.ts';
import { redisErrorFields } from '../../src/redis/failure.ts';
import { hintChannel } from '../../src/redis/hints.ts';
import { CHUNK_QUEUE_NAME } from '../../src/redis/keys.ts';
import { openBullQueue } from '../../src/redis/open-queue.ts';
import type { WorkerBasis } from './worker-basis.ts';

/** A worker looks for batches that are due at this interval, and after a hint. */
const EVERY_MS = 15_000;

/** A batch is due again after this time: each of a lone worker's rounds finds it due. */
const DUE_AFTER_MS = 10_000;

/** A worker that dies during its look delays the next one by at most this time. */
const LEASE_MS = JOBS_AHEAD_MS;

/**
 * Gives jobs to the chunks of open batches that have none: their importer died in between, their batch
 * was resumed, failed chunks were redriven, Redis lost the jobs, or the batch has a rate, which gets jobs
 * for {@link JOBS_AHEAD_MS} only. An additional job does no harm, because the ledger decides what is sent.
 *
 * The ledger keeps the set of open batches, so it does not matter how many batches are kept. Each worker
 * takes those that are due, one after the other; a look has a lease and no lock. A hint only wakes.
 */
export function createBatchWalker(basis: WorkerBasis, ledger: Ledger): BackgroundService {
  const { redis, hints, keys, log, config } = basis;
  const queue = openBullQueue(CHUNK_QUEUE_NAME, redis, keys);
  let running: Promise<void> | undefined;
  let again = false;
  let stopped = false;

  /** Looks at one batch. @returns false if none is due */
  const lookAtNext = async () => {
    const taken = await ledger.takeOpen(LEASE_MS);
    if (taken === undefined) return false;
    const { id, leaseEnds } = taken;
    const held = (await readHold(redis, keys)) !== undefined;
    if (await ledger.restartStalled(id, restartAfterMs(config.worker.sendDeadlineMs), held)) {
      log.warn({ event: 'batch-stalled', batch: id });
      await removeFailedJobs(queue, id);
    }
    // While the queue is held, the jobs of a batch with a rate would pile up.
    await queueChunks(ledger, queue, id, held ? 0 : JOBS_AHEAD_MS);
    await ledger.putBack(id, leaseEnds, DUE_AFTER_MS);
    return true;
  };
  const round = async () => {
    for (let more = true; more; more = !stopped && (await lookAtNext()));
  };
  const run = () => {
    again = running !== undefined;
    if (stopped || again) return;
    running = round()
      .catch((error: unknown) => {
        log.warn({ event: 'sweep-trouble', ...redisErrorFields(error) });
      })
      .finally(() => {
        running = undefined;
        if (again) run();
      });
  };
  let unsubscribe: (() => void) | undefined;
  let timer: NodeJS.Timeout | undefined;
  return {
    start: () => {
      unsubscribe ??= hints.subscribe(hintChannel(redis, keys.batchHints), run);
      // Random, so that the workers of a fleet do not all ask at once.
      timer ??= setInterval(run, EVERY_MS * (0.8 + Math.random() * 0.4));
    },
    stop: async () => {
      stopped = true;
      clearInterval(timer);
      unsubscribe?.();
      await running;
      await queue.close();
    },
  };
}

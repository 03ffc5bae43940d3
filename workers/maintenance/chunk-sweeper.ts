import { randomUUID } from 'node:crypto';
import type { Queue } from 'bullmq';
import type { Logger } from 'pino';
import type { BackgroundService } from '../../src/async/lifecycle.ts';
import type { Batch } from '../../src/batch/ledger/batch-record.ts';
import type { Ledger } from '../../src/batch/ledger/ledger.ts';
import { queueChunks } from '../../src/batch/import/queue-chunks.ts';
import { nearEndOfRetention } from '../../src/batch/ledger/retention.ts';
import { readHold } from '../../src/fleet/hold/hold-gate.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import { redisErrorCode } from '../../src/redis/failure.ts';
import type { Hints } from '../../src/redis/hints.ts';
import { CHUNK_QUEUE_NAME, type Keys } from '../../src/redis/keys.ts';
import { openBullQueue } from '../../src/redis/open-queue.ts';

/** Interval of the sweeps of a fleet, without hints. */
const EVERY_MS = 15_000;

/** Longest time that one worker has the lock of the sweep. */
const LOCK_MS = 60_000;

/** A batch without progress for this long, although nothing holds it, gets new jobs. */
const STALLED_AFTER_MS = 60_000;

/** How many of the newest batches are checked. */
const BATCHES_CHECKED = 1_000;

/**
 * Finds stored chunks without a job and queues them: their importer died in between, their batch was
 * resumed, or failed chunks were redriven. An additional job does no harm, because the ledger decides
 * what is sent.
 *
 * One worker of the fleet sweeps at a time, every {@link EVERY_MS} and after a hint.
 */
export function createChunkSweeper(
  redis: RedisClient,
  hints: Pick<Hints, 'subscribe'>,
  keys: Keys,
  ledger: Ledger,
  log: Logger,
): BackgroundService {
  const queue = openBullQueue(CHUNK_QUEUE_NAME, redis, keys);
  let running: Promise<void> | undefined;
  const warned = new Set<string>();
  let again = false;
  let stopped = false;

  const run = () => {
    if (stopped) return;
    if (running !== undefined) {
      again = true;
      return;
    }
    again = false;
    running = sweep(redis, keys, ledger, queue, warned, log)
      .catch((error: unknown) => {
        log.warn({ event: 'sweep-trouble', code: redisErrorCode(error) });
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
      unsubscribe ??= hints.subscribe(keys.batchHints, run);
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

async function sweep(
  redis: RedisClient,
  keys: Keys,
  ledger: Ledger,
  queue: Queue,
  warned: Set<string>,
  log: Logger,
): Promise<void> {
  const nonce = randomUUID();
  if ((await redis.set(keys.sweep, nonce, 'PX', LOCK_MS, 'NX')) === null) return;
  try {
    const held = (await readHold(redis, keys)) !== undefined;
    for (const batch of await ledger.list(BATCHES_CHECKED)) {
      const { id, phase } = batch;
      warnAboutRetention(batch, warned, log);
      const open = phase === 'importing' || phase === 'sending';
      // A cancelled batch is not finished while attempts of dead workers count as in progress.
      if (!open && !(phase === 'cancelled' && batch.finishedAt === 0)) continue;
      if (!held && (await ledger.restartStalled(id, STALLED_AFTER_MS))) {
        log.warn({ event: 'batch-stalled', batch: id });
      }
      await queueChunks(ledger, queue, id);
    }
  } finally {
    // An expired lock may belong to another worker by now.
    if ((await redis.get(keys.sweep)) === nonce) await redis.del(keys.sweep);
  }
}

/** Logs once per process and batch that undecided contacts are about to be deleted. */
function warnAboutRetention(batch: Batch, warned: Set<string>, log: Logger): void {
  const near = nearEndOfRetention(batch, Date.now());
  if (near === undefined || warned.has(batch.id)) return;
  warned.add(batch.id);
  log.warn({ event: 'batch-retention-near', batch: batch.id, ...near });
}

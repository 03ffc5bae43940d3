import { randomUUID } from 'node:crypto';
import type { Queue } from 'bullmq';
import type { Logger } from 'pino';
import type { Batch } from '../../src/batch/ledger/batch-record.ts';
import type { Ledger } from '../../src/batch/ledger/ledger.ts';
import { queueChunks } from '../../src/batch/import/queue-chunks.ts';
import { nearEndOfRetention } from '../../src/batch/ledger/retention.ts';
import { readHold } from '../../src/fleet/hold/hold-gate.ts';
import type { RedisClient } from '../../src/redis/connect.ts';
import { redisErrorWord } from '../../src/redis/failure.ts';
import type { Hints } from '../../src/redis/hints.ts';
import { CHUNK_QUEUE_NAME, type Keys } from '../../src/redis/keys.ts';
import { openBullQueue } from '../../src/redis/open-queue.ts';

/** How often a fleet looks, when nobody hints. */
const EVERY_MS = 15_000;

/** No worker looks for longer than that before another may. */
const LOCK_MS = 60_000;

/** A batch in which nothing moves for so long, although nothing holds it, gets its jobs anew. */
const STALLED_AFTER_MS = 60_000;

/** How many of the newest batches are looked at. */
const LOOKED_AT = 1_000;

/**
 * Looks for chunks that are stored and have no job, and queues them: their importer died in between,
 * their batch was resumed, or what failed was redriven. Jobs are only hints that there is something
 * to do, so a job too many does no harm.
 *
 * One worker of the fleet looks at a time, every {@link EVERY_MS} and when it is hinted.
 */
export function startChunkSweeper(
  redis: RedisClient,
  hints: Pick<Hints, 'subscribe'>,
  keys: Keys,
  ledger: Ledger,
  log: Logger,
): { stop(): Promise<void> } {
  const queue = openBullQueue(CHUNK_QUEUE_NAME, redis, keys);
  let running: Promise<void> | undefined;
  const warned = new Set<string>();
  let again = false;
  let stopped = false;

  const look = () => {
    if (stopped) return;
    if (running !== undefined) {
      again = true;
      return;
    }
    again = false;
    running = sweep(redis, keys, ledger, queue, warned, log)
      .catch((error: unknown) => {
        log.warn({ event: 'sweep-trouble', code: redisErrorWord(error) });
      })
      .finally(() => {
        running = undefined;
        if (again) look();
      });
  };
  const unsubscribe = hints.subscribe(keys.batchHints, look);
  // Spread over the fleet, so that its workers do not all ask at once.
  const timer = setInterval(look, EVERY_MS * (0.8 + Math.random() * 0.4));
  return {
    stop: async () => {
      stopped = true;
      clearInterval(timer);
      unsubscribe();
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
    for (const batch of await ledger.list(LOOKED_AT)) {
      const { id, phase } = batch;
      warnOfRetention(batch, warned, log);
      const open = phase === 'importing' || phase === 'sending';
      // A cancelled batch is not over while attempts that died with their worker count as under way.
      if (!open && !(phase === 'cancelled' && batch.finishedAt === 0)) continue;
      if (!held && (await ledger.restartStalled(id, STALLED_AFTER_MS))) {
        log.warn({ event: 'batch-stalled', batch: id });
      }
      await queueChunks(ledger, queue, id);
    }
  } finally {
    // A lock that outlived its time is another worker's by now.
    if ((await redis.get(keys.sweep)) === nonce) await redis.del(keys.sweep);
  }
}

/** Says once per process that contacts nobody has decided about are about to be deleted. */
function warnOfRetention(batch: Batch, warned: Set<string>, log: Logger): void {
  const near = nearEndOfRetention(batch, Date.now());
  if (near === undefined || warned.has(batch.id)) return;
  warned.add(batch.id);
  log.warn({ event: 'batch-retention-near', batch: batch.id, ...near });
}

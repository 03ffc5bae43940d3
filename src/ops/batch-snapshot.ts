import type { Batch } from '../batch/ledger/batch-record.ts';
import { readMotion, type BatchMotion } from '../batch/ledger/batch-motion.ts';
import type { Ledger } from '../batch/ledger/ledger.ts';
import { NoticeQueueError } from '../contracts/errors.ts';
import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';
import { redisFailure } from '../redis/failure.ts';
import { readFleet } from './snapshot.ts';

/** Where a batch is read. */
export interface BatchSource {
  readonly ledger: Ledger;
  readonly redis: RedisClient;
  readonly keys: Keys;
}

/** A batch at one moment. */
export interface BatchSnapshot extends BatchMotion {
  readonly batch: Batch;
  /** Whether its import stopped before the end of the list: no process is importing the batch. */
  readonly importStopped: boolean;
}

/** The error for a batch that does not exist. */
export function noSuchBatch(id: string): NoticeQueueError {
  return new NoticeQueueError(
    'NOT_FOUND',
    `No batch named "${id}" (it may have been deleted). "notices batches" lists all batches.`,
  );
}

/** @throws NoticeQueueError NOT_FOUND */
export async function requireBatch(
  { ledger }: { readonly ledger: Ledger },
  id: string,
): Promise<Batch> {
  const batch = await ledger.read(id);
  if (batch === undefined) throw noSuchBatch(id);
  return batch;
}

/**
 * Reads a batch and what may block it, with a fixed number of commands and one for each worker.
 *
 * @throws NoticeQueueError NOT_FOUND
 */
export async function readBatchSnapshot(
  { ledger, redis, keys }: BatchSource,
  id: string,
): Promise<BatchSnapshot> {
  try {
    const [importing, batch, { now, ...fleet }] = await Promise.all([
      // Before the batch: an import that ends in between has not stopped early.
      ledger.isImporting(id),
      ledger.read(id),
      readFleet({ redis, keys }, 'workers', 'hold', 'templateHolds', 'sendWindows', 'now'),
    ]);
    if (batch === undefined) throw noSuchBatch(id);
    const importStopped = batch.importedAt === 0 && !importing;
    const motion = await readMotion(ledger, batch, { ...fleet, importing }, now);
    return { batch, ...motion, importStopped };
  } catch (error) {
    throw redisFailure(error);
  }
}

import type { Batch } from '../batch/ledger/batch-record.ts';
import { readMotion, type BatchMotion } from '../batch/ledger/batch-motion.ts';
import { surroundingsOf } from '../batch/ledger/blocked-reason.ts';
import { redisFailure } from '../redis/failure.ts';
import type { BatchControlContext } from './batch-actions.ts';
import { readFleet } from './snapshot.ts';

/** A batch at one moment. */
export interface BatchSnapshot extends BatchMotion {
  readonly batch: Batch;
  /** Whether its import stopped before the end of the list: no process is importing the batch. */
  readonly importStopped: boolean;
}

/**
 * Reads a batch and what may block it, with a fixed number of commands and one for each worker.
 *
 * @returns undefined where there is no such batch
 */
export async function readBatchSnapshot(
  { ledger, redis, keys }: BatchControlContext,
  id: string,
): Promise<BatchSnapshot | undefined> {
  try {
    const [importing, batch, { now, ...fleet }] = await Promise.all([
      // Before the batch: an import that ends in between has not stopped early.
      ledger.isImporting(id),
      ledger.read(id),
      readFleet({ redis, keys }, 'workers', 'hold', 'templateHolds', 'sendWindows', 'now'),
    ]);
    if (batch === undefined) return undefined;
    const importStopped = batch.importedAt === 0 && !importing;
    const motion = await readMotion(ledger, batch, surroundingsOf(fleet, importing), now);
    return { batch, ...motion, importStopped };
  } catch (error) {
    throw redisFailure(error);
  }
}

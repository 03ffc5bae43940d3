import type { Batch } from '../batch/ledger/batch-record.ts';
import { blockedReason } from '../batch/ledger/blocked-reason.ts';
import { redisFailure } from '../redis/failure.ts';
import type { BatchControlContext } from './batch-actions.ts';
import { FleetReader } from './snapshot.ts';

/** A batch at one moment. */
export interface BatchSnapshot {
  readonly batch: Batch;
  /** Why the batch does not move; undefined where it moves or is over. */
  readonly standstill: string | undefined;
  /** Whether its import stopped before the end of the list: no process is importing the batch. */
  readonly importStopped: boolean;
}

/**
 * Reads a batch and what may block it, with a fixed number of commands and one for each worker.
 *
 * @returns undefined where there is no such batch
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function readBatchSnapshot(
  { ledger, redis, keys }: BatchControlContext,
  id: string,
): Promise<BatchSnapshot | undefined> {
  try {
    const [importing, batch, { workers, hold }] = await Promise.all([
      // Before the batch: an import that ends in between has not stopped early.
      ledger.isImporting(id),
      ledger.read(id),
      new FleetReader({ redis, keys }).read('workers', 'hold'),
    ]);
    if (batch === undefined) return undefined;
    const around = { workers: workers.length, hold, importing };
    const importStopped = batch.importedAt === 0 && !importing;
    return { batch, standstill: blockedReason(batch, around), importStopped };
  } catch (error) {
    throw redisFailure(error);
  }
}

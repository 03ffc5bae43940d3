import type { Batch } from '../batch/ledger/batch-record.ts';
import { blockedReason } from '../batch/ledger/blocked-reason.ts';
import { readWorkers } from '../fleet/heartbeat.ts';
import { readHold } from '../fleet/hold/hold-gate.ts';
import { redisFailure } from '../redis/failure.ts';
import type { BatchControlContext } from './control-batch.ts';

/** A batch at one moment, and why it stands still where it does. */
export interface BatchSnapshot {
  readonly batch: Batch;
  readonly standstill: string | undefined;
}

/**
 * Reads a batch and what decides whether it moves, with a handful of commands.
 *
 * @returns undefined where there is no such batch
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function readBatchSnapshot(
  { ledger, redis, keys }: BatchControlContext,
  id: string,
): Promise<BatchSnapshot | undefined> {
  try {
    const [batch, workers, hold] = await Promise.all([
      ledger.read(id),
      readWorkers(redis, keys),
      readHold(redis, keys),
    ]);
    if (batch === undefined) return undefined;
    const around = { workers: workers.length, hold, now: Date.now() };
    return { batch, standstill: blockedReason(batch, around) };
  } catch (error) {
    throw redisFailure(error);
  }
}

import type { BatchPhase } from '../batch/ledger/batch-record.ts';
import type { Ledger } from '../batch/ledger/ledger.ts';
import type { RedisClient } from '../redis/connect.ts';
import type { Keys } from '../redis/keys.ts';
import type { Actor } from './actor.ts';
import { appendAudit } from './audit.ts';

/** What a person may do to a batch as a whole. */
export const BATCH_CONTROLS = ['pause', 'resume', 'cancel'] as const;

/** Name of it. */
export type BatchControl = (typeof BATCH_CONTROLS)[number];

/** Why a phase does not allow it, after the batch's name. */
export const WHY_NOT_CONTROLLED: Readonly<Record<BatchPhase, string>> = {
  importing: 'is being imported',
  sending: 'is being sent',
  paused: 'is paused',
  cancelled: 'was cancelled, and that is for good',
  finished: 'is finished: nothing is pending',
};

/** Where a person acts. */
export interface BatchControlContext {
  readonly ledger: Ledger;
  readonly redis: RedisClient;
  readonly keys: Keys;
}

/**
 * Pauses, resumes or cancels a batch from the next claim on, and writes down who did.
 *
 * @returns `done: false` where the phase does not allow it, undefined where there is no such batch
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED
 */
export async function controlBatch(
  { ledger, redis, keys }: BatchControlContext,
  id: string,
  verb: BatchControl,
  actor: Actor,
): Promise<{ readonly done: boolean; readonly phase: BatchPhase } | undefined> {
  const answer = await ledger.control(id, verb);
  if (answer?.done === true) {
    const as = verb === 'cancel' ? 'cancelled' : `${verb}d`;
    await appendAudit(redis, keys, { ...actor, what: 'batch', target: `batch ${id}`, as });
  }
  return answer;
}

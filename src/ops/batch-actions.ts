import {
  redriveBatch,
  type RedriveReport,
  type RedriveSelection,
} from '../batch/failures/redrive-batch.ts';
import { promoteJobs } from '../batch/import/queue-chunks.ts';
import type { Batch, BatchPhase } from '../batch/ledger/batch-record.ts';
import type { Ledger } from '../batch/ledger/ledger.ts';
import { NoticeQueueError } from '../contracts/errors.ts';
import type { RedisClient } from '../redis/connect.ts';
import { CHUNK_QUEUE_NAME, type Keys } from '../redis/keys.ts';
import { appendAudit, type Actor } from './audit.ts';

/** Manual actions on a whole batch. */
export const BATCH_CONTROLS = ['pause', 'resume', 'cancel'] as const;

/** Name of such an action. */
export type BatchControl = (typeof BATCH_CONTROLS)[number];

/** Why a phase does not allow an action; follows the name of the batch in a sentence. */
export const WHY_NOT_CONTROLLED: Readonly<Record<BatchPhase, string>> = {
  importing: 'is being imported',
  sending: 'is being sent',
  paused: 'is paused',
  cancelled: 'was cancelled, which is final',
  finished: 'is finished: nothing is pending',
};

/** The account whose batches are changed. */
export interface BatchControlContext {
  readonly ledger: Ledger;
  readonly redis: RedisClient;
  readonly keys: Keys;
}

/**
 * Pauses, resumes or cancels a batch, and records it in the audit stream. It applies from the next
 * claim of a chunk on; requests in flight finish.
 *
 * @returns `done: false` where the phase does not allow it; undefined where there is no such batch
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

/**
 * Changes the rate of a batch, and records it in the audit stream. Jobs that wait for turns of the old rate are made due.
 *
 * @param rate contacts per second; 0 for no limit
 */
export async function changeRate(
  { ledger, redis, keys }: BatchControlContext,
  id: string,
  rate: number,
  actor: Actor,
): ReturnType<Ledger['changeRate']> {
  const answer = await ledger.changeRate(id, rate);
  if (answer?.done !== true) return answer;
  const { openBullQueue } = await import('../redis/open-queue.ts');
  const queue = openBullQueue(CHUNK_QUEUE_NAME, redis, keys);
  try {
    await promoteJobs(queue, id);
  } finally {
    await queue.close();
    const as = rate === 0 ? 'no rate' : `rate ${rate}`;
    await appendAudit(redis, keys, { ...actor, what: 'batch', target: `batch ${id}`, as });
  }
  return answer;
}

/**
 * Queues failures of a batch again, and records it in the audit stream.
 *
 * @param onProgress called with the number of contacts redriven so far
 * @param signal stops it between two windows; what was redriven until then stays redriven
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED; what was redriven before stays
 *   redriven, and is in the audit stream if Redis accepts the entry
 */
export async function redriveAudited(
  { ledger, redis, keys }: BatchControlContext,
  batch: Pick<Batch, 'id' | 'chunks'>,
  selection: RedriveSelection,
  actor: Actor,
  onProgress: (redriven: number) => void = () => {},
  signal?: AbortSignal,
): Promise<RedriveReport> {
  let contacts = 0;
  const count = (redriven: number) => {
    contacts = redriven;
    onProgress(redriven);
  };
  try {
    return await redriveBatch(ledger, batch, selection, count, signal);
  } finally {
    if (contacts > 0) {
      const { state, code } = selection;
      const as = code === undefined ? state : `${state} ${code}`;
      const target = `batch ${batch.id}`;
      await appendAudit(redis, keys, { ...actor, what: 'redrive', target, as, contacts });
    }
  }
}

/** @throws NoticeQueueError NOT_FOUND */
export async function requireBatch(
  { ledger }: Pick<BatchControlContext, 'ledger'>,
  id: string,
): Promise<Batch> {
  const batch = await ledger.read(id);
  if (batch === undefined) throw noSuchBatch(id);
  return batch;
}

/** The error for a batch that does not exist. */
export function noSuchBatch(id: string): NoticeQueueError {
  return new NoticeQueueError(
    'NOT_FOUND',
    `No batch named "${id}" (it may have been deleted). "notices batches" lists all batches.`,
  );
}

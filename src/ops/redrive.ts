import type { Batch } from '../batch/ledger/batch-record.ts';
import {
  redriveBatch,
  type RedriveReport,
  type RedriveSelection,
} from '../batch/failures/redrive-batch.ts';
import type { Actor } from './actor.ts';
import { appendAudit } from './audit.ts';
import type { BatchControlContext } from './control-batch.ts';

/**
 * Gives failures of a batch back to the queue, and writes down who did and how many.
 *
 * @param onProgress told of the contacts redriven so far
 * @param signal stops it between two windows; what was redriven stays so
 * @throws NoticeQueueError QUEUE_UNAVAILABLE or QUEUE_REFUSED; what was redriven before stays so,
 *   and is in the audit stream where Redis takes that
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

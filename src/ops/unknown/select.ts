import type { Batch } from '../../batch/ledger/batch-record.ts';
import type { Ledger } from '../../batch/ledger/ledger.ts';
import type { NoticeSource } from '../../notices/read-job.ts';
import { listUnknownNotices, type UnknownFilter, type UnknownNotice } from '../unknown.ts';
import { unknownOfBatch, type UnknownOfBatch } from './parts.ts';

/** Where unknown outcomes are read. The sealing is needed to select encrypted ones by number. */
export interface UnknownContext extends NoticeSource {
  readonly ledger: Ledger;
}

/** Unknown outcomes: single notices, oldest first, and batches, newest first. */
export interface Unknowns {
  readonly notices: readonly UnknownNotice[];
  readonly batches: readonly UnknownOfBatch[];
}

/**
 * Everything that matches: what a decision with the same filter would decide.
 *
 * @throws NoticeQueueError QUEUE_UNAVAILABLE, QUEUE_REFUSED or PAYLOAD_UNREADABLE
 */
export async function selectUnknown(
  context: UnknownContext,
  filter: UnknownFilter,
): Promise<Unknowns> {
  const notices = filter.batch === undefined ? await listUnknownNotices(context, filter) : [];
  const batches: UnknownOfBatch[] = [];
  for await (const batch of batchesOf(context, filter)) {
    const found = await unknownOfBatch(context, batch, filter);
    if (found !== undefined) batches.push(found);
  }
  return { notices, batches };
}

/** The batches that a filter can match, the newest first. */
export async function* batchesOf(
  { ledger }: Pick<UnknownContext, 'ledger'>,
  { batch }: UnknownFilter,
): AsyncGenerator<Batch> {
  if (batch === undefined) {
    yield* ledger.withUnknown();
    return;
  }
  const found = await ledger.read(batch);
  if (found !== undefined) yield found;
}

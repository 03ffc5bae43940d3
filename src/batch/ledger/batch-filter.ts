import type { Batch, BatchPhase } from './batch-record.ts';
import type { BatchTimes, LedgerReader } from './ledger-reader.ts';

/** Selects batches; a field that is undefined matches all. */
export interface BatchFilter extends BatchTimes {
  readonly phase?: BatchPhase | undefined;
}

/** Records per read where a phase is selected: the list is in the order of time only. */
const PAGE = 100;

/**
 * The newest that match; how many were created in that time, of every phase; and the offset from which to read on, null
 * at the end.
 *
 * @param page `offset` counts batches of every phase; `mostRead` bounds those that are read
 */
export async function findBatches(
  ledger: Pick<LedgerReader, 'list' | 'countBatches'>,
  { phase, ...times }: BatchFilter,
  page: { readonly limit: number; readonly offset: number; readonly mostRead?: number },
) {
  const { limit, offset, mostRead = Infinity } = page;
  const found: Batch[] = [];
  let at = offset;
  let isMore = true;
  while (isMore && found.length < limit && at - offset < mostRead) {
    const wanted = phase === undefined ? limit : PAGE;
    const some = await ledger.list(wanted, at, times);
    isMore = some.length === wanted;
    for (const batch of some) {
      if (found.length === limit) break;
      at++;
      if (phase === undefined || batch.phase === phase) found.push(batch);
    }
  }
  const total = await ledger.countBatches(times);
  return { batches: found, total, next: at < total && at > offset ? at : null };
}

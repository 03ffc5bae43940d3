import { InputError, type InputIssue } from '../../contracts/errors.ts';
import { DURATION_EXAMPLES, parseDuration, readTime, TIME_FORMAT } from '../../format/time.ts';
import { BATCH_PHASES, type Batch, type BatchPhase } from './batch-record.ts';
import type { BatchTimes, LedgerReader } from './ledger-reader.ts';

/** Selects batches; a field that is undefined matches all. */
export interface BatchFilter extends BatchTimes {
  readonly phase?: BatchPhase | undefined;
}

/** The same as text: query parameters of the HTTP API, fields of the page and flags of the command. */
export interface BatchFilterText {
  readonly phase?: string | undefined;
  readonly within?: string | undefined;
  readonly since?: string | undefined;
  readonly before?: string | undefined;
}

/** @throws InputError REQUEST_INVALID that names every invalid or contradicting field */
export function readBatchFilter(text: BatchFilterText, now: number): BatchFilter {
  const issues: InputIssue[] = [];
  const refuse = (field: keyof BatchFilterText, problem: string) => {
    issues.push({ field, problem });
  };
  const read = (
    field: keyof BatchFilterText,
    parse: (text: string) => number | undefined,
    format: string,
  ) => {
    const given = text[field];
    const found = given === undefined ? undefined : parse(given);
    if (given !== undefined && found === undefined) refuse(field, `expected ${format}`);
    return found;
  };
  const phase = BATCH_PHASES.find((one) => one === text.phase);
  if (text.phase !== undefined && phase === undefined) {
    refuse('phase', `expected one of ${BATCH_PHASES.join(', ')}`);
  }
  const span = read('within', parseDuration, `a duration such as ${DURATION_EXAMPLES}`);
  const [since, before] = [
    read('since', readTime, TIME_FORMAT),
    read('before', readTime, TIME_FORMAT),
  ];
  if (text.within !== undefined && (text.since !== undefined || text.before !== undefined)) {
    refuse('within', 'expected either within, or since and before');
  }
  if (since !== undefined && before !== undefined && since >= before) {
    refuse('since', 'expected a time earlier than before');
  }
  if (issues.length > 0) throw new InputError('REQUEST_INVALID', issues);
  return { phase, since: span === undefined ? since : Math.max(0, now - span), before };
}

export interface MatchingBatches {
  readonly batches: readonly Batch[];
  /** Batches that were created in the time of the filter, of every phase. */
  readonly total: number;
  /** Offset from which to read on; null at the end. */
  readonly next: number | null;
}

/** Records per read where a phase is selected: the list is in the order of time only. */
const PAGE = 100;

/** The newest that match. @param page `offset` counts batches of every phase; `mostRead` bounds those that are read */
export async function findBatches(
  ledger: Pick<LedgerReader, 'list' | 'countBatches'>,
  { phase, ...times }: BatchFilter,
  page: { readonly limit: number; readonly offset: number; readonly mostRead?: number },
): Promise<MatchingBatches> {
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

import { randomBytes } from 'node:crypto';
import { ERROR_CODES, ImportError, NoticeQueueError } from '../../contracts/errors.ts';
import { countOf } from '../../format/format.ts';
import type { Batch } from '../ledger/batch-record.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { sealFrame } from '../../payload/chunk-payload.ts';
import type { Sealing } from '../../payload/seal.ts';
import type { SentColumns } from '../source/sent-columns.ts';
import type { OpenedList } from './opened-list.ts';
import { decideImport, findBatches, listName } from './decide-import.ts';
import type { CheckedImportOptions, ImportReport } from './import-options.ts';
import { batchIdOf, type ImportPlan } from './import-plan.ts';
import type { ListHead } from './list-digest.ts';

/** What a batch is created with. */
export interface BatchRequest {
  readonly plan: ImportPlan;
  readonly options: CheckedImportOptions;
  readonly keepFailedMs: number;
  readonly sealing: Sealing;
  /** Called before a batch is created. */
  readonly beforeCreate: () => Promise<void>;
}

/** A batch that was created or is continued, or whose import has ended. */
export interface StartedBatch {
  readonly batch: Batch;
  readonly kind: 'created' | 'continued' | 'ended';
  /** Digest of the rows up to the last stored chunk; empty if there is none. */
  readonly digest: string;
}

/** Other imports of the same list, at the same moment, that this one gives way to. */
const MAX_ATTEMPTS = 20;

/**
 * Creates the batch of a list, or finds the one to continue (decide-import.ts). Earlier batches are found by
 * the identity of the list, as long as their records are kept. A list that is longer than its head has the
 * identity of its head. If it can be read twice, it is compared as a whole with the lists that are known as a whole, so
 * that a list that only begins like others is not refused.
 *
 * @throws NoticeQueueError LIST_REPEATED, BATCH_CONFLICT, BATCH_CANCELLED; nothing was queued
 */
export async function beginBatch(
  ledger: Ledger,
  list: OpenedList,
  request: BatchRequest,
): Promise<StartedBatch> {
  const { plan, options, keepFailedMs, sealing } = request;
  const { head } = list;
  for (let attempt = 0; ; attempt++) {
    const found = await findBatches(ledger, list, options);
    const { records, ids, content } = found;
    const decision = decideImport(found, options);
    switch (decision.kind) {
      case 'conflict':
        throw conflict(options.batchId ?? '', decision.differing);
      case 'cancelled':
        throw new NoticeQueueError('BATCH_CANCELLED');
      case 'continue': {
        const record = records.get(decision.batch.id);
        return { batch: decision.batch, kind: 'continued', digest: record?.digest ?? '' };
      }
      case 'ended': {
        const stored = records.get(decision.batch.id)?.content ?? '';
        if (stored !== '' && stored !== (await list.content())) throw conflict(decision.batch.id);
        return { batch: decision.batch, kind: 'ended', digest: '' };
      }
      case 'repeated':
        throw repeated(decision.batch, decision.differing, list.head, found.isWhole);
      case 'create':
        await request.beforeCreate();
    }
    const id = options.batchId ?? randomId();
    // Lists without a single contact have nothing that could be sent twice.
    const name = listName(plan.plan.delivery, head.identity);
    const ofList = head.contacts === 0 ? undefined : { name, found: ids, content };
    const sealed = { ...plan.plan, frame: sealFrame(plan.plan.frame, id, sealing) };
    const result = await ledger.start(id, sealed, head.identity, keepFailedMs, ofList);
    // Another import was faster: its batch is found now.
    if (result !== 'started' && attempt < MAX_ATTEMPTS) continue;
    if (result !== 'started') throw conflict(id);
    const batch = await ledger.read(id);
    if (batch === undefined) throw new NoticeQueueError('IMPORT_STOPPED');
    return { batch, kind: 'created', digest: '' };
  }
}

function repeated(
  { id, begunAt, importedAt, phase, counts }: Batch,
  differing: readonly string[],
  { contacts }: ListHead,
  whole: boolean,
): NoticeQueueError {
  const what = whole
    ? 'This list is'
    : `The first ${countOf(contacts, 'contact')} of this list ${contacts === 1 ? 'is' : 'are'}`;
  const state =
    importedAt === 0 ? 'its import has not ended' : `${phase}, ${countOf(counts.total, 'contact')}`;
  const other = differing.length === 0 ? '' : ` Other options than there: ${differing.join(', ')}.`;
  return new NoticeQueueError(
    'LIST_REPEATED',
    `${what} in batch ${id} already, started ${new Date(begunAt).toISOString()} (${state}); nothing was enqueued.${other}`,
  );
}

function conflict(id: string, differing: readonly string[] = []): NoticeQueueError {
  const what = differing.length === 0 ? 'another list' : `other options (${differing.join(', ')})`;
  return new NoticeQueueError(
    'BATCH_CONFLICT',
    `Batch ${id} was started with ${what}; nothing was queued.`,
  );
}

/** Not derived from the list: ids are logged, and there are so few phone numbers that all could be tried. */
const randomId = () => batchIdOf(randomBytes(12).toString('base64url'));

/** The report of an import that has nothing left to do. */
export function alreadyImported(batch: Batch, columns: SentColumns): ImportReport {
  const { refusedRows: refused, duplicateRows: duplicates, counts } = batch;
  return {
    batch: batch.id,
    rows: counts.total + refused + duplicates,
    contacts: counts.total,
    chunks: batch.chunks,
    duplicates,
    refused,
    columns,
    normalised: 0,
    repeated: 0,
    repaired: {},
    bytes: 0,
    resumed: true,
    alreadyImported: true,
    dryRun: false,
    firstRefused: [],
    reasons: [],
    firstDuplicates: [],
  };
}

/** Adds to an error how many contacts were queued before it. @param stored by this run */
export function withQueuedCount(
  error: unknown,
  started: StartedBatch | undefined,
  stored: number,
): unknown {
  if (!(error instanceof NoticeQueueError) || started === undefined) return error;
  const queued = started.batch.counts.total + stored;
  const { remedy } = ERROR_CODES[error.code];
  const message = error.message.replace(` ${remedy}`, '');
  const warning =
    error.code === 'SOURCE_INVALID' && queued > 0
      ? ' To avoid sending to them twice, cancel that batch before you import the corrected list.'
      : '';
  const { id } = started.batch;
  const detail = `${message} ${countOf(queued, 'contact')} ${queued === 1 ? 'is' : 'are'} already queued, in batch ${id}.${warning}`;
  return new ImportError(error.code, detail, id, queued);
}

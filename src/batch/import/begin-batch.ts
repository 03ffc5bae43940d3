import { randomBytes } from 'node:crypto';
import { ERROR_CODES, ImportError, InputError, NoticeQueueError } from '../../contracts/errors.ts';
import { countOf } from '../../format/format.ts';
import { writeInstant } from '../../format/time.ts';
import { sealFrame } from '../../payload/chunk-payload.ts';
import type { Sealing } from '../../payload/seal.ts';
import type { Batch, BatchPlan } from '../ledger/batch-record.ts';
import type { Ledger } from '../ledger/ledger.ts';
import {
  isPast,
  NOT_PAST,
  type CheckedImportOptions,
  type ImportReport,
} from './import-options.ts';
import type { FirstPass } from './list-pass.ts';

export interface BatchRequest {
  readonly plan: BatchPlan;
  readonly options: CheckedImportOptions;
  readonly keepFailedMs: number;
  readonly sealing: Sealing;
  readonly beforeCreate: () => Promise<void>;
  /** Reads a list to its end, of which only the head was read. @returns its digest */
  readonly readOn: () => Promise<string>;
}

export interface StartedBatch {
  readonly batch: Batch;
  readonly kind: 'created' | 'continued' | 'ended';
  /** Digest of the rows up to the last stored chunk; empty if there is none. */
  readonly digest: string;
}

/** Options of sending. Given again for a batch that exists, they must be those it was created with. */
const SENDING = ['chunkSize', 'delivery', 'expiresAt', 'rate', 'bisect'] as const;
export type SendingOptions = Pick<CheckedImportOptions, (typeof SENDING)[number]> &
  Partial<Pick<CheckedImportOptions, 'paused' | 'startAt' | 'keep'>>;

type ImportDecision =
  | { readonly kind: 'create' }
  | { readonly kind: 'continue' | 'ended' | 'cancelled'; readonly batch: Batch }
  | { readonly kind: 'conflict'; readonly differing: readonly string[] }
  | { readonly kind: 'repeated'; readonly batch: Batch; readonly differing: readonly string[] };

/**
 * Decides what becomes of a list:
 *
 * | named batch | earlier batch of the list | `again` | decision |
 * |---|---|---|---|
 * | has another list, or other options | | | conflict |
 * | cancelled | | | cancelled |
 * | its import has ended | | | ended |
 * | its import has not ended | | | continue it |
 * | none | none | | create |
 * | none | any | yes | create; without `batchId`, an import that has not ended is continued, given the same options |
 * | none | import not ended, same options, no `batchId` | no | continue it |
 * | none | any other | no | repeated |
 */
export function decideImport(
  found: {
    /** The batch that `batchId` names. */
    readonly named?: { readonly batch: Batch; readonly sameList: boolean } | undefined;
    readonly earlier?: Batch | undefined;
  },
  options: SendingOptions & Pick<CheckedImportOptions, 'again' | 'batchId'>,
): ImportDecision {
  const { named, earlier } = found;
  if (named !== undefined) {
    const { batch, sameList } = named;
    const differing = differingOptions(options, batch);
    if (!sameList || differing.length > 0) return { kind: 'conflict', differing };
    if (batch.phase === 'cancelled') return { kind: 'cancelled', batch };
    return { kind: batch.importedAt > 0 ? 'ended' : 'continue', batch };
  }
  if (earlier === undefined) return { kind: 'create' };
  const differing = differingOptions(options, earlier);
  const canContinue =
    options.batchId === undefined && earlier.importedAt === 0 && differing.length === 0;
  if (canContinue) return { kind: 'continue', batch: earlier };
  return options.again ? { kind: 'create' } : { kind: 'repeated', batch: earlier, differing };
}

/**
 * Names of the options that were given and differ from those of the batch; of its rate a person may have decided since.
 */
function differingOptions(options: SendingOptions, batch: Batch): string[] {
  const { rateSetAt, phase, reading } = batch;
  const differing: string[] = SENDING.filter((name) => name !== 'rate' || rateSetAt === 0).filter(
    (name) => options[name] !== undefined && options[name] !== batch[name],
  );
  const { paused = false, startAt, keep = [] } = options;
  const { flags = {} } = reading ?? {};
  if (paused && phase !== 'paused' && phase !== 'cancelled') differing.push('paused');
  // The start of the batch itself is gone once it has started.
  if (startAt !== undefined && Date.parse(flags['start-at'] ?? '') !== startAt) {
    differing.push('startAt');
  }
  if (keep.join(',') !== (flags['keep'] ?? '')) differing.push('keep');
  return differing;
}

/** Other imports of the same list, at the same moment, that this one gives way to. */
const MAX_ATTEMPTS = 20;

/**
 * Creates the batch of a list, or finds the one to continue. Earlier batches are found by the identity of the list, as
 * long as their records are kept.
 *
 * @throws NoticeQueueError LIST_REPEATED, BATCH_CONFLICT, BATCH_CANCELLED; nothing was queued
 */
export async function beginBatch(
  ledger: Ledger,
  list: FirstPass,
  request: BatchRequest,
): Promise<StartedBatch> {
  const { plan, options, keepFailedMs, sealing } = request;
  const { identity, contacts, isWhole } = list;
  for (let attempt = 0; ; attempt++) {
    const named =
      options.batchId === undefined ? undefined : await ledger.importRecord(options.batchId);
    // A list without a contact has nothing that could be sent twice.
    const ids = named !== undefined || contacts === 0 ? [] : await ledger.batchesOfList(identity);
    const records = await Promise.all(ids.map((id) => ledger.importRecord(id)));
    const known = records.filter((record) => record !== undefined);
    // Another import has created it meanwhile.
    const isMeanwhile = known.some(({ batch }) => batch.id === options.batchId);
    if (isMeanwhile && attempt < MAX_ATTEMPTS) continue;
    // An id may have been used again, for another list.
    const [earlier] = known
      .filter(({ fingerprint }) => fingerprint === identity)
      .map(({ batch }) => batch)
      .sort((a, b) => b.begunAt - a.begunAt);
    const decision = decideImport(
      {
        named: named && { batch: named.batch, sameList: named.fingerprint === identity },
        earlier,
      },
      options,
    );
    switch (decision.kind) {
      case 'conflict':
        throw conflict(options.batchId ?? '', decision.differing, otherFlags(plan, named?.batch));
      case 'cancelled':
        throw new NoticeQueueError('BATCH_CANCELLED');
      case 'continue': {
        const { batch } = decision;
        const record = [named, ...known].find((one) => one?.batch.id === batch.id);
        return { batch, kind: 'continued', digest: record?.digest ?? '' };
      }
      case 'ended':
        if (!isWhole && named?.digest !== (await request.readOn())) {
          throw conflict(decision.batch.id);
        }
        return { batch: decision.batch, kind: 'ended', digest: '' };
      case 'repeated':
        throw repeated(decision.batch, decision.differing, list);
      case 'create':
        if (isPast(options.startAt)) {
          throw new InputError('NOTICE_INVALID', [{ field: 'startAt', problem: NOT_PAST }]);
        }
        await request.beforeCreate();
    }
    const id = options.batchId ?? randomId();
    const ofList = contacts === 0 ? undefined : ids;
    const sealed = { ...plan, frame: sealFrame(plan.frame, id, sealing) };
    const result = await ledger.start(id, sealed, identity, keepFailedMs, ofList);
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
  { contacts, isWhole }: FirstPass,
): NoticeQueueError {
  const what = isWhole
    ? 'This list is'
    : `The first ${countOf(contacts, 'contact')} of this list ${contacts === 1 ? 'is' : 'are'}`;
  const state =
    importedAt === 0 ? 'its import has not ended' : `${phase}, ${countOf(counts.total, 'contact')}`;
  const other = differing.length === 0 ? '' : ` Other options than there: ${differing.join(', ')}.`;
  return new NoticeQueueError(
    'LIST_REPEATED',
    `${what} in batch ${id} already, started ${writeInstant(begunAt)} (${state}); nothing was enqueued.${other}`,
  );
}

/** Flags that decide which contacts a file gives. */
const READING = [
  'map',
  'pass-through',
  'keep',
  'require',
  'country',
  'allow-implausible',
  'format',
  'delimiter',
  'encoding',
  'no-header',
  'sender-key',
  'chat-sender-key',
  'schedule-type',
];

/** Those with which the same file is read in another way than for a batch. */
function otherFlags({ reading }: BatchPlan, batch: Batch | undefined): string[] {
  const before = batch?.reading;
  if (reading === undefined || before === undefined || reading.file === '') return [];
  if (before.file !== reading.file || before.bytes !== reading.bytes) return [];
  return READING.filter((name) => before.flags[name] !== reading.flags[name]);
}

function conflict(
  id: string,
  differing: readonly string[] = [],
  flags: readonly string[] = [],
): NoticeQueueError {
  const other = flags.map((name) => `--${name}`).join(', ');
  const list = flags.length === 0 ? 'another list' : `the same list, and other ${other}`;
  const what = differing.length === 0 ? list : `other options (${differing.join(', ')})`;
  return new NoticeQueueError(
    'BATCH_CONFLICT',
    `Batch ${id} was started with ${what}; nothing was queued.`,
  );
}

/** Not derived from the list: ids are logged, and there are so few phone numbers that all could be tried. */
const randomId = () => `b-${randomBytes(12).toString('base64url')}`;

/** An import that has not renewed its lease for this long has stopped. */
const LEASE_MS = 5_000;
const RENEW_MS = 1_000;

/**
 * Shows other processes that the import of a batch is running, by a key that expires by itself when this one is killed.
 * Never fails: the import does not depend on it.
 *
 * @returns ends it
 */
export function holdImport(ledger: Ledger, id: string): () => Promise<void> {
  let renewal = Promise.resolve();
  const renew = () => {
    renewal = ledger.holdImport(id, LEASE_MS).catch(() => {});
  };
  renew();
  const timer = setInterval(renew, RENEW_MS);
  return async () => {
    clearInterval(timer);
    await renewal;
    await ledger.releaseImport(id).catch(() => {});
  };
}

export function alreadyImported(batch: Batch, report: ImportReport): ImportReport {
  const { refusedRows: refused, duplicateRows: duplicates, counts, chunks } = batch;
  const rows = counts.total + refused + duplicates;
  const { total: contacts } = counts;
  const done = { resumed: true, alreadyImported: true };
  return { ...report, rows, contacts, chunks, duplicates, refused, ...done };
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

import path from 'node:path';
import { ERROR_CODES, NoticeQueueError } from '../../contracts/errors.ts';
import type { Batch } from '../ledger/batch-record.ts';
import { ChunkWriter, type WriterKeys } from './chunk-writer.ts';
import type { FindKey } from '../../number-index/number-key.ts';
import {
  readImportOptions,
  type CheckedImportOptions,
  type ImportOptions,
  type ImportReport,
} from './import-options.ts';
import { planImport, type ImportPlan } from './import-plan.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { openSource, type ImportSource, type OpenSource } from '../source/open-source.ts';
import { retryWhileAway } from './retry-while-away.ts';
import type { PayloadKey } from '../payload/payload-key.ts';
import { RejectsFile } from './rejects-file.ts';
import { nextRows } from '../source/next-rows.ts';
import { RowProcessor } from './row-processor.ts';
import { RowTally } from './row-tally.ts';
import type { SourceReader, SourcePart } from '../source/source-row.ts';

/** What an import takes from the configuration. */
export interface ImportSettings {
  /** In contacts. */
  readonly chunkSize: number;
  /** In contacts. */
  readonly highWater: number;
  readonly batchRetentionMs: number;
  /** Seals payloads. */
  readonly payloadKey?: PayloadKey | undefined;
  /** Numbers can be found by their hashes under it; no index is kept without. */
  readonly findKey?: FindKey | undefined;
  readonly findRetentionMs: number;
}

/**
 * Reads a list of any length into a batch: rows are checked, numbers that stood before are passed
 * over, contacts are cut into chunks, and each chunk is stored in the ledger and then given a job.
 * Sending begins with the first chunk.
 *
 * It may be killed at any moment and run again: rows are read from the beginning, so that they come
 * out the same, and chunks that are stored already are passed over. The ledger, and not the queue,
 * decides which these are.
 *
 * @param ledger undefined for a dry run without Redis
 * @param queueChunks gives jobs to the chunks of a batch that lack one
 * @throws InputError NOTICE_INVALID for wrong options; nothing was queued
 * @throws NoticeQueueError SOURCE_INVALID, BATCH_CONFLICT, BATCH_CANCELLED, REJECTS_UNWRITABLE,
 * IMPORT_STOPPED, QUEUE_UNAVAILABLE, QUEUE_REFUSED; the message says what was queued
 */
export async function importBatch(
  ledger: Ledger | undefined,
  queueChunks: (id: string) => Promise<void>,
  source: ImportSource,
  options: ImportOptions,
  settings: ImportSettings,
): Promise<ImportReport> {
  const checked = readImportOptions(options);
  // What is wrong with the notice is said before the list is read.
  planImport(checked, undefined, settings.chunkSize);
  const list = await openSource(source, checked);
  try {
    const plan = planImport(checked, list.digest, settings.chunkSize);
    const run = new ImportRun(list, checked, plan, settings);
    const target = checked.dryRun ? undefined : ledger;
    return await run.into(target, queueChunks);
  } finally {
    await list.close();
  }
}

/** One run of an import. */
class ImportRun {
  readonly #list: OpenSource;
  readonly #options: CheckedImportOptions;
  readonly #plan: ImportPlan;
  readonly #settings: ImportSettings;
  readonly #tally = new RowTally();
  #waiting = false;

  constructor(
    list: OpenSource,
    options: CheckedImportOptions,
    plan: ImportPlan,
    settings: ImportSettings,
  ) {
    this.#list = list;
    this.#options = options;
    this.#plan = plan;
    this.#settings = settings;
  }

  async into(
    ledger: Ledger | undefined,
    queueChunks: (id: string) => Promise<void>,
  ): Promise<ImportReport> {
    const { id } = this.#plan;
    const { signal } = this.#options;
    // A header that cannot be used, or a first row that cannot be read, is met here.
    const reader = await this.#list.read();
    const first = await nextRows(reader.rows, signal);
    if (first === undefined) {
      throw new NoticeQueueError('SOURCE_INVALID', 'The list holds no contacts.');
    }
    const rejects = await this.#rejects(reader);
    const begun = ledger === undefined ? undefined : await this.#begin(ledger);
    if (begun !== undefined && begun.batch.importedAt > 0) {
      await retryWhileAway(() => queueChunks(id), signal);
      return alreadyImported(begun.batch);
    }
    const writer = new ChunkWriter(
      ledger === undefined || begun === undefined
        ? undefined
        : {
            ledger,
            queueChunks,
            id,
            known: begun.batch.chunks,
            highWater: this.#options.highWater ?? this.#settings.highWater,
            onWaiting: (waiting) => {
              this.#waiting = waiting;
              this.#tell();
            },
          },
      this.#writerKeys(),
      signal,
    );
    let written: boolean;
    try {
      await this.#readAll(first, reader, writer, rejects);
      await writer.end();
      written = (await rejects?.end()) ?? false;
    } catch (error) {
      await writer.abandon();
      await rejects?.abandon();
      // Not awaited: a list that never answers would never end, either.
      void reader.rows.return?.().catch(() => {});
      throw this.#withWhatIsQueued(error, begun, writer);
    }
    const { refused, duplicates } = this.#tally;
    if (ledger !== undefined) {
      await retryWhileAway(() => ledger.endImport(id, refused, duplicates), signal);
    }
    this.#tell();
    return {
      batch: id,
      ...this.#tally.report(),
      chunks: writer.chunks,
      bytes: writer.bytes,
      resumed: begun?.resumed ?? false,
      alreadyImported: false,
      dryRun: this.#options.dryRun,
      ...(written && rejects !== undefined ? { rejectsFile: rejects.path } : {}),
    };
  }

  #writerKeys(): WriterKeys {
    const { payloadKey: payload, findKey: key, findRetentionMs: keepMs } = this.#settings;
    return { payload, find: key === undefined ? undefined : { key, keepMs } };
  }

  async #rejects(reader: SourceReader): Promise<RejectsFile | undefined> {
    const { file: listed } = this.#list;
    const ending = reader.titles === undefined ? 'ndjson' : 'csv';
    const file = this.#options.rejectsFile ?? (listed && `${listed}.rejected.${ending}`);
    if (file === undefined) return undefined;
    if (listed !== undefined && path.resolve(listed) === path.resolve(file)) {
      throw new NoticeQueueError('REJECTS_UNWRITABLE', `${file} is the list itself.`);
    }
    return RejectsFile.prepare(file, reader.titles);
  }

  async #begin(ledger: Ledger): Promise<{ readonly batch: Batch; readonly resumed: boolean }> {
    const { id, plan, fingerprint } = this.#plan;
    const { signal } = this.#options;
    const { batchRetentionMs } = this.#settings;
    // Without patience: a Redis that is not there is said at once.
    const word = await ledger.begin(id, plan, fingerprint, batchRetentionMs);
    if (word === 'different') {
      throw new NoticeQueueError(
        'BATCH_CONFLICT',
        `Batch ${id} was begun with another list or other options; nothing was queued.`,
      );
    }
    const batch = await retryWhileAway(() => ledger.read(id), signal);
    if (batch === undefined) throw new NoticeQueueError('IMPORT_STOPPED');
    if (batch.phase === 'cancelled') throw new NoticeQueueError('BATCH_CANCELLED');
    return { batch, resumed: word === 'known' };
  }

  async #readAll(
    first: readonly SourcePart[],
    reader: SourceReader,
    writer: ChunkWriter,
    rejects: RejectsFile | undefined,
  ): Promise<void> {
    const { allowDuplicates, signal } = this.#options;
    const { chunkSize } = this.#plan.plan;
    const intake = new RowProcessor(this.#tally, writer, rejects, chunkSize, allowDuplicates);
    let rows: readonly SourcePart[] | undefined = first;
    for (; rows !== undefined; rows = await nextRows(reader.rows, signal)) {
      await intake.take(rows);
      this.#tell();
    }
    // A file that changed meanwhile is noticed before its last chunk is stored.
    await this.#list.verify();
    await intake.end();
  }

  #tell(): void {
    const { rows, contacts, duplicates, refused } = this.#tally;
    this.#options.onProgress?.({
      rows,
      contacts,
      duplicates,
      refused,
      bytesRead: this.#list.bytesRead(),
      totalBytes: this.#list.totalBytes,
      waiting: this.#waiting,
    });
  }

  /** Nothing is left half-done without saying so. */
  #withWhatIsQueued(
    error: unknown,
    begun: { readonly batch: Batch } | undefined,
    writer: ChunkWriter,
  ): unknown {
    if (!(error instanceof NoticeQueueError) || begun === undefined) return error;
    const queued = begun.batch.counts.total + writer.stored;
    const { remedy } = ERROR_CODES[error.code];
    const said = error.message.replace(` ${remedy}`, '');
    const warning =
      error.code === 'SOURCE_INVALID' && queued > 0
        ? ' They would get it twice: cancel that batch before you import the mended list.'
        : '';
    return new NoticeQueueError(
      error.code,
      `${said} ${queued} contacts are queued already, in batch ${this.#plan.id}.${warning}`,
    );
  }
}

function alreadyImported(batch: Batch): ImportReport {
  const { refusedRows: refused, duplicateRows: duplicates, counts } = batch;
  return {
    batch: batch.id,
    rows: counts.total + refused + duplicates,
    contacts: counts.total,
    chunks: batch.chunks,
    duplicates,
    refused,
    normalised: 0,
    bytes: 0,
    resumed: true,
    alreadyImported: true,
    dryRun: false,
    firstRefused: [],
    firstDuplicates: [],
  };
}

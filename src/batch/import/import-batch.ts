import { COUNTRIES } from '../../format/country.ts';
import { NoticeQueueError } from '../../contracts/errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { BatchPlan } from '../ledger/batch-record.ts';
import { invalidList } from '../source/describe-columns.ts';
import { openSource, type ImportSource, type OpenSource } from '../source/open-source.ts';
import type { SourceReader } from '../source/source-row.ts';
import { RepeatedPeople } from './repeated-people.ts';
import { ChunkWriter } from './chunk-writer.ts';
import {
  readImportOptions,
  type CheckedImportOptions,
  type ImportOptions,
  type ImportProgress,
  type ImportReport,
} from './import-options.ts';
import {
  alreadyImported,
  beginBatch,
  holdImport,
  withQueuedCount,
  type StartedBatch,
} from './begin-batch.ts';
import {
  identityOf,
  planImport,
  spreadOver,
  type ImportSettings,
  type ImportTarget,
} from './import-plan.ts';
import {
  abandon,
  digestOf,
  noContacts,
  readHead,
  readWhole,
  rowsOf,
  type FirstPass,
} from './list-pass.ts';
import { RejectsFile } from './rejects-file.ts';
import { retryWhileAway } from './retry-while-away.ts';
import { ListDigest, RowProcessor } from './row-processor.ts';
import { RowTally } from './row-tally.ts';

/**
 * Imports a list of any length as a batch: checks the rows, skips repeated phone numbers, cuts the contacts into
 * chunks, stores each chunk in the ledger and then gives it a job. Sending starts with the first chunk.
 *
 * An import that was killed can be repeated: it reads the rows from the start, so the chunks come out the same, and
 * skips those that the ledger (not the queue) has already. A list that was imported to its end is refused (begin-
 * batch.ts).
 *
 * @param target undefined for a dry run without Redis
 * @throws InputError NOTICE_INVALID for invalid options; nothing was queued
 * @throws NoticeQueueError SOURCE_INVALID, LIST_REPEATED, BATCH_CONFLICT, BATCH_CANCELLED, REJECTS_UNWRITABLE,
 *   IMPORT_STOPPED, QUEUE_UNAVAILABLE, QUEUE_REFUSED, REDIS_FULL; the message contains how much was queued
 */
export async function importBatch(
  target: ImportTarget | undefined,
  source: ImportSource,
  options: ImportOptions,
  settings: ImportSettings,
): Promise<ImportReport> {
  const checked = readImportOptions(options);
  planImport(checked, settings);
  const { country = settings.country, allowImplausible } = checked;
  const rules = { country: country && COUNTRIES[country], allowImplausible };
  const list = await openSource(source, { ...checked, rules });
  try {
    const run = new ImportRun(list, checked, settings);
    return await run.into(checked.dryRun ? undefined : target);
  } finally {
    await list.close?.();
  }
}

class ImportRun {
  readonly #list: OpenSource;
  readonly #options: CheckedImportOptions;
  #plan: BatchPlan;
  readonly #settings: ImportSettings;
  readonly #tally = new RowTally();
  #secret = '';
  #waiting: ImportProgress['waiting'] = false;
  /** Undefined where lists are not compared. */
  #people: RepeatedPeople | undefined;

  constructor(list: OpenSource, options: CheckedImportOptions, settings: ImportSettings) {
    this.#list = list;
    this.#options = options;
    this.#plan = planImport(options, settings, list);
    this.#settings = settings;
  }

  async into(target: ImportTarget | undefined): Promise<ImportReport> {
    this.#secret = (await target?.secret()) ?? '';
    if (target?.recent !== undefined) {
      const { templateCode } = this.#plan;
      this.#people = new RepeatedPeople(target.ledger, target.recent, templateCode, this.#secret);
    }
    const { allowDuplicates, signal } = this.#options;
    const prints = this.#people?.prints();
    const pass = { digest: this.#digest(), prints, allowDuplicates, signal };
    const isRead = target !== undefined && this.#list.canReread;
    const whole = isRead ? await readWhole(await this.#list.read(), pass) : undefined;
    const reader = await this.#list.read();
    try {
      if (target === undefined) return await this.#import(reader, undefined);
      const first = whole ?? (await readHead(reader, pass));
      const problem = first.tally.whyImplausible();
      if (problem !== undefined) throw invalidList(problem);
      // An export of what was not accepted is sent to people who were in a list before.
      if (!first.isFailures) this.#people?.take(prints);
      this.#plan = planImport(spreadOver(this.#options, first), this.#settings, this.#list);
      return await this.#import(reader, { ...target, first });
    } finally {
      abandon(reader);
    }
  }

  async #import(
    reader: SourceReader,
    target: (ImportTarget & { readonly first: FirstPass }) | undefined,
  ): Promise<ImportReport> {
    const { signal, dryRun } = this.#options;
    const rejects = await RejectsFile.prepare(this.#list.file, reader.titles, this.#options);
    const started = target && (await this.#begin(target.ledger, reader, target.first));
    const id = started?.batch.id ?? this.#options.batchId ?? '';
    const writer = this.#writer(target, started);
    if (started?.kind === 'ended') {
      await retryWhileAway(async () => target?.queueChunks(id), signal);
      return alreadyImported(started.batch, this.#report(id, reader, writer));
    }
    // Before anything is stored, so that a list that is imported at the same time is compared with this one.
    if (started !== undefined) await this.#people?.store(started, this.#options);
    const release = target && holdImport(target.ledger, id);
    let rejectsFile: string | undefined;
    try {
      const { chunkSize } = started?.batch ?? this.#plan;
      const digest = await this.#readAll(reader, target?.first, chunkSize, writer, rejects);
      await writer.end();
      rejectsFile = await rejects?.end();
      if (started !== undefined) await this.#people?.store(started, this.#options);
      await writer.endImport(this.#tally, digest);
    } catch (error) {
      await writer.abandon();
      await rejects?.abandon();
      throw withQueuedCount(error, started, writer.stored);
    } finally {
      await release?.();
    }
    this.#reportProgress();
    const problem = dryRun ? this.#tally.whyImplausible() : undefined;
    return {
      ...this.#report(id, reader, writer),
      resumed: started?.kind === 'continued',
      ...(problem === undefined ? {} : { problem }),
      ...(rejectsFile === undefined ? {} : { rejectsFile }),
    };
  }

  #report(batch: string, reader: SourceReader, { chunks, bytes }: ChunkWriter): ImportReport {
    return {
      batch,
      ...this.#tally.report(),
      columns: reader.columns(),
      chunks,
      bytes,
      resumed: false,
      alreadyImported: false,
      dryRun: this.#options.dryRun,
    };
  }

  #writer(target: ImportTarget | undefined, started: StartedBatch | undefined): ChunkWriter {
    return new ChunkWriter(
      target && {
        ...target,
        id: started?.batch.id ?? '',
        known: started?.batch.chunksOfList ?? 0,
        knownDigest: started?.digest ?? '',
        onWaiting: (waiting) => {
          this.#waiting = waiting;
          this.#reportProgress();
        },
      },
      this.#settings,
      this.#options,
    );
  }

  async #confirm({ tally }: FirstPass): Promise<void> {
    const { confirm } = this.#options;
    if (confirm === undefined || !this.#list.canReread) return;
    const { contacts, refused, duplicates } = tally;
    const left = this.#people?.leftOut?.size ?? 0;
    const { rate } = this.#plan;
    if (await confirm({ contacts: contacts - left, refused, duplicates, rate })) return;
    throw new NoticeQueueError('IMPORT_STOPPED', 'It was not confirmed; nothing was enqueued.');
  }

  #begin(ledger: Ledger, reader: SourceReader, first: FirstPass): Promise<StartedBatch> {
    const { keepFailedMs, sealing } = this.#settings;
    // Not retried: if Redis is not available at the start the import fails at once.
    return beginBatch(ledger, first, {
      plan: this.#plan,
      options: this.#options,
      keepFailedMs,
      sealing,
      beforeCreate: async () => {
        await this.#people?.decide(this.#options);
        await this.#confirm(first);
      },
      readOn: () => digestOf(reader, this.#digest(), this.#options.signal, first.parts),
    });
  }

  readonly #digest = () => new ListDigest(identityOf(this.#plan), this.#secret);

  async #readAll(
    reader: SourceReader,
    first: FirstPass | undefined,
    chunkSize: number,
    writer: ChunkWriter,
    rejects: RejectsFile | undefined,
  ): Promise<string> {
    const { allowDuplicates, signal } = this.#options;
    const digest = this.#digest();
    const prints = this.#people?.prints();
    const processor = new RowProcessor({
      tally: this.#tally,
      writer,
      rejects,
      chunkSize,
      keep: this.#options.keep,
      // It was read before, and has none.
      allowDuplicates: allowDuplicates || (this.#list.canReread && first?.tally.duplicates === 0),
      digest,
      prints: first?.isWhole === true && this.#people?.leftOut === undefined ? undefined : prints,
      leftOut: this.#people?.leftOut,
    });
    for await (const parts of rowsOf(reader, signal, first?.parts)) {
      await processor.process(parts);
      this.#reportProgress();
    }
    if (this.#tally.rows === 0) throw noContacts();
    // Detects a file that changed during the import before its last chunk is stored.
    await this.#list.verify?.();
    const content = digest.content();
    const isOther = this.#list.canReread && (first?.identity ?? content) !== content;
    if (isOther) throw invalidList('The list changed during the import.');
    await processor.end();
    if (first?.isWhole === false) this.#people?.take(prints);
    return content;
  }

  #reportProgress(): void {
    const { rows, contacts, duplicates, refused } = this.#tally;
    const [bytesRead, { totalBytes }] = [this.#list.bytesRead(), this.#list];
    const counts = { rows, contacts, duplicates, refused };
    this.#options.onProgress?.({ ...counts, bytesRead, totalBytes, waiting: this.#waiting });
  }
}

import { COUNTRIES } from '../../format/country.ts';
import { NoticeQueueError } from '../../contracts/errors.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { openSource, type ImportSource, type OpenSource } from '../source/open-source.ts';
import { RepeatedPeople } from './repeated-people.ts';
import { ChunkWriter, type WriterKeys } from './chunk-writer.ts';
import {
  readImportOptions,
  type CheckedImportOptions,
  type ImportOptions,
  type ImportReport,
} from './import-options.ts';
import { ImportLease } from './import-lease.ts';
import { alreadyImported, beginBatch, withQueuedCount, type StartedBatch } from './begin-batch.ts';
import { listName } from './decide-import.ts';
import {
  planImport,
  type ImportPlan,
  type ImportSettings,
  type ImportTarget,
} from './import-plan.ts';
import { checkList, OpenedList, checkHead, type ListCheck } from './opened-list.ts';
import { ListDigest } from './list-digest.ts';
import { RejectsFile } from './rejects-file.ts';
import { retryWhileAway } from './retry-while-away.ts';
import { RowProcessor, RowTally } from './row-processor.ts';

/**
 * Imports a list of any length as a batch: checks the rows, skips repeated phone numbers, cuts the
 * contacts into chunks, stores each chunk in the ledger and then gives it a job. Sending starts with
 * the first chunk.
 *
 * An import that was killed can be repeated: it reads the rows from the start, so the chunks come out
 * the same, and skips those that the ledger (not the queue) has already. A list that was imported to its end
 * is refused (begin-batch.ts).
 *
 * @param target undefined for a dry run without Redis
 * @throws InputError NOTICE_INVALID for invalid options; nothing was queued
 * @throws NoticeQueueError SOURCE_INVALID, LIST_REPEATED, BATCH_CONFLICT, BATCH_CANCELLED,
 * REJECTS_UNWRITABLE, IMPORT_STOPPED, QUEUE_UNAVAILABLE, QUEUE_REFUSED, REDIS_FULL; the message contains how much was queued
 */
export async function importBatch(
  target: ImportTarget | undefined,
  source: ImportSource,
  options: ImportOptions,
  settings: ImportSettings,
): Promise<ImportReport> {
  const checked = readImportOptions(options);
  // Reports an invalid notice before reading the list.
  planImport(checked, settings);
  const { country = settings.country, allowImplausible } = checked;
  const rules = { country: country && COUNTRIES[country], allowImplausible };
  const list = await openSource(source, { ...checked, rules });
  try {
    const plan = planImport(checked, settings);
    const run = new ImportRun(list, checked, plan, settings);
    return await run.into(checked.dryRun ? undefined : target);
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
  #secret = '';
  #waiting = false;
  /** Undefined for a dry run, and for a list that can be read only once. */
  #checked: ListCheck | undefined;
  /** Undefined where lists are not compared. */
  #people: RepeatedPeople | undefined;
  /** Of the whole list or, where it can be read only once, of its first rows. */
  #prints: Float64Array | undefined;

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

  async into(target: ImportTarget | undefined): Promise<ImportReport> {
    this.#secret = (await target?.secret()) ?? '';
    const { identity } = this.#plan;
    const { signal } = this.#options;
    if (target?.recent !== undefined) {
      const { templateCode } = this.#plan.plan;
      this.#people = new RepeatedPeople(target.ledger, target.recent, templateCode, this.#secret);
    }
    const prints = this.#people?.prints();
    const digest = new ListDigest(identity, this.#secret);
    if (target !== undefined && this.#list.canReread) {
      this.#checked = await checkList(this.#list, digest, prints, this.#options);
    }
    const content = this.#checked?.content;
    const list = await OpenedList.read(this.#list, identity, this.#secret, { content, signal });
    try {
      if (target !== undefined) {
        const check = this.#checked ?? (await checkHead(list, digest, prints));
        const problem = check.tally.whyImplausible();
        if (problem !== undefined) throw new NoticeQueueError('SOURCE_INVALID', problem);
        // An export of what was not accepted is sent to people who were in a list before.
        if (!check.isFailures) this.#prints = prints?.sorted();
      }
      return await this.#import(list, target);
    } finally {
      list.abandon();
    }
  }

  async #import(list: OpenedList, target: ImportTarget | undefined): Promise<ImportReport> {
    const { signal } = this.#options;
    const rejects = await this.#prepareRejects(list.titles);
    const started = target && (await this.#begin(target.ledger, list));
    const id = started?.batch.id ?? this.#options.batchId ?? '';
    if (started?.kind === 'ended') {
      await retryWhileAway(async () => target?.queueChunks(id), signal);
      return alreadyImported(started.batch, list.columns());
    }
    const { chunkSize } = started?.batch ?? this.#plan.plan;
    const writer = this.#writer(target, id, started);
    if (started !== undefined) await this.#comparePeople(started);
    const lease = target === undefined ? undefined : new ImportLease(target.ledger, id);
    lease?.start();
    let rejectsFile: string | undefined;
    try {
      const content = await this.#readAll(list, chunkSize, writer, rejects);
      await writer.end();
      rejectsFile = await rejects?.end();
      const { refused, duplicates } = this.#tally;
      const { delivery } = started?.batch ?? this.#plan.plan;
      const name = listName(delivery, list.head.identity);
      const whole = content === undefined ? undefined : { name, content };
      if (started !== undefined && !this.#list.canReread) await this.#comparePeople(started);
      await writer.endImport(refused, duplicates, whole);
    } catch (error) {
      await writer.abandon();
      await rejects?.abandon();
      throw withQueuedCount(error, started, writer.stored);
    } finally {
      await lease?.stop();
    }
    this.#reportProgress();
    const problem = this.#options.dryRun ? this.#tally.whyImplausible() : undefined;
    return {
      batch: id,
      ...this.#tally.report(),
      ...(problem === undefined ? {} : { problem }),
      columns: list.columns(),
      chunks: writer.chunks,
      bytes: writer.bytes,
      resumed: started?.kind === 'continued',
      alreadyImported: false,
      dryRun: this.#options.dryRun,
      ...(rejectsFile === undefined ? {} : { rejectsFile }),
    };
  }

  #writer(
    target: ImportTarget | undefined,
    id: string,
    started: StartedBatch | undefined,
  ): ChunkWriter {
    const { sealing, findKey: key, keepFailedMs: keepMs } = this.#settings;
    const keys: WriterKeys = { sealing, find: key === undefined ? undefined : { key, keepMs } };
    return new ChunkWriter(
      target && {
        ...target,
        id,
        known: started?.batch.chunksOfList ?? 0,
        knownDigest: started?.digest ?? '',
        highWater: this.#options.highWater ?? this.#settings.highWater,
        onWaiting: (waiting) => {
          this.#waiting = waiting;
          this.#reportProgress();
        },
      },
      keys,
      this.#options.signal,
    );
  }

  async #prepareRejects(titles: readonly string[] | undefined): Promise<RejectsFile | undefined> {
    const { file: list } = this.#list;
    const ending = titles === undefined ? 'ndjson' : 'csv';
    const file = this.#options.rejectsFile ?? (list && `${list}.rejected.${ending}`);
    if (file === undefined) return undefined;
    const { overwriteRejects: overwrite, encoding, delimiter } = this.#options;
    const marked = encoding !== 'utf-8';
    return RejectsFile.prepare(file, { list, titles, delimiter, overwrite, marked });
  }

  async #confirm(): Promise<void> {
    const [{ confirm }, checked] = [this.#options, this.#checked];
    if (confirm === undefined || checked === undefined) return;
    const { contacts, refused, duplicates } = checked.tally;
    const left = this.#people?.leftOut?.size ?? 0;
    if (await confirm({ contacts: contacts - left, refused, duplicates })) return;
    throw new NoticeQueueError('IMPORT_STOPPED', 'It was not confirmed; nothing was enqueued.');
  }

  /** Before anything is stored, so that a list that is imported at the same time is compared with this one. */
  async #comparePeople({ batch, kind }: StartedBatch): Promise<void> {
    const [people, prints] = [this.#people, this.#prints];
    if (people === undefined || prints === undefined) return;
    const { onlyNew, signal } = this.#options;
    if (onlyNew && kind === 'continued') await people.continue(prints, batch);
    await retryWhileAway(() => people.store(batch, prints), signal);
  }

  #begin(ledger: Ledger, list: OpenedList): Promise<StartedBatch> {
    const { keepFailedMs, sealing } = this.#settings;
    // Not retried: if Redis is not available at the start the import fails at once.
    return beginBatch(ledger, list, {
      plan: this.#plan,
      options: this.#options,
      keepFailedMs,
      sealing,
      beforeCreate: async () => {
        if (this.#prints !== undefined) await this.#people?.decide(this.#prints, this.#options);
        await this.#confirm();
      },
    });
  }

  /** @returns digest of the whole list; undefined if it has no contacts */
  async #readAll(
    list: OpenedList,
    chunkSize: number,
    writer: ChunkWriter,
    rejects: RejectsFile | undefined,
  ): Promise<string | undefined> {
    const { allowDuplicates } = this.#options;
    const tally = this.#tally;
    const digest = new ListDigest(this.#plan.identity, this.#secret);
    const isWhole = this.#list.canReread || list.head.complete;
    const prints = this.#people?.prints();
    const processor = new RowProcessor({
      tally,
      writer,
      rejects,
      chunkSize,
      // It was read before, and has none.
      allowDuplicates: allowDuplicates || this.#checked?.tally.duplicates === 0,
      digest,
      prints: isWhole && this.#people?.leftOut === undefined ? undefined : prints,
      leftOut: this.#people?.leftOut,
    });
    for await (const rows of list.rows()) {
      await processor.process(rows);
      this.#reportProgress();
    }
    // Detects a file that changed during the import before its last chunk is stored.
    await this.#list.verify();
    const content = digest.contacts === 0 ? '' : digest.content();
    if (this.#checked !== undefined && this.#checked.content !== content) {
      const name = this.#list.file ?? 'The list';
      throw new NoticeQueueError('SOURCE_INVALID', `${name} changed during the import.`);
    }
    await processor.end();
    if (!isWhole) this.#prints = prints?.sorted();
    return content === '' ? undefined : content;
  }

  #reportProgress(): void {
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
}

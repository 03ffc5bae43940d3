import { NoticeQueueError } from '../../contracts/errors.ts';
import { encodeFingerprints } from '../../number-index/chunk-fingerprints.ts';
import { hashNumber } from '../../number-index/number-key.ts';
import type { CheckedImportOptions, ImportProgress } from './import-options.ts';
import type { ImportSettings, ImportTarget } from './import-plan.ts';
import type { RowTally } from './row-tally.ts';
import type { StoredChunk } from '../ledger/ledger.ts';
import { encodePayload } from '../../payload/chunk-payload.ts';
import { batchSeal } from '../../payload/seal.ts';
import { pauseFor, retryWhileAway } from './retry-while-away.ts';

/** Chunks that are compressed and stored while the next rows are read. */
const MAX_PENDING = 4;
/** Stored chunks get jobs after this many chunks or this much time, whichever comes first. */
const QUEUE_AFTER_CHUNKS = 50;
const QUEUE_AFTER_MS = 500;
/** While the import waits for workers: how often it reads the number of unsent contacts. */
const POLL_MS = 250;
const FULL_MS = 60_000;
/** The account's unsent contacts are read again after this many chunks: other imports add to them. */
const REFRESH_AFTER_CHUNKS = 20;
/** Redis memory of a chunk beside its payload: its job, its fields, its state. Measured. */
const CHUNK_OVERHEAD_BYTES = 1_250;

/** The batch that a writer stores chunks in. */
export interface WriterTarget extends ImportTarget {
  readonly id: string;
  /** Chunks that an earlier run stored; they are skipped. */
  readonly known: number;
  /** Digest of the list up to the last of them; empty if it is not known. */
  readonly knownDigest: string;
  /** Called when the import starts and stops waiting, and when its reason changes. */
  readonly onWaiting: (waiting: ImportProgress['waiting']) => void;
}

export interface NewChunk {
  readonly json: Buffer;
  readonly size: number;
  /** Their phone numbers; empty unless {@link ChunkWriter.wantsNumbers}. */
  readonly numbers: readonly string[];
  /** Their rows, as text. */
  readonly ofRows: string;
  readonly rows: number;
  /** Digest of the list up to the end of this chunk. */
  readonly digest: string;
}

/**
 * Stores chunks in order, a few at a time, and gives them jobs. Without a target (a dry run) it only
 * counts the bytes that they would take.
 *
 * Memory stays bounded: {@link add} waits while {@link MAX_PENDING} chunks are not stored yet, and
 * storing waits while Redis holds too many unsent contacts. A failure is thrown by the next call.
 */
export class ChunkWriter {
  readonly #target: WriterTarget | undefined;
  readonly #settings: ImportSettings;
  readonly #options: CheckedImportOptions;
  /** Digest of the list up to the end of the last chunk that was passed to {@link add}. */
  #digest = '';
  /** Chunks passed to {@link add}. */
  chunks = 0;
  #contacts = 0;
  /** Contacts that this run stored in Redis. */
  stored = 0;
  /** Redis memory of the chunks of this run, in bytes, estimated. */
  bytes = 0;
  /** Chunks that are not stored yet, oldest first: each waits for the one before. */
  readonly #pending: Promise<void>[] = [];
  #unqueued = 0;
  #queuedAt = performance.now();
  /** Unsent contacts of the account, as last read, plus those stored since. */
  #unsent = 0;
  #refreshIn = 0;

  constructor(
    target: WriterTarget | undefined,
    settings: ImportSettings,
    options: CheckedImportOptions,
  ) {
    this.#target = target;
    this.#settings = settings;
    this.#options = options;
  }

  /** Whether chunks need their phone numbers: the search index stores hashes of them. */
  get wantsNumbers(): boolean {
    return this.#settings.findKey !== undefined;
  }

  /** Accepts the next chunk; resolves before it is stored. @throws NoticeQueueError BATCH_CONFLICT for another list */
  async add({ json, size, numbers, ofRows, rows, digest }: NewChunk): Promise<void> {
    const chunk = this.chunks++;
    const before = this.#digest;
    this.#digest = digest;
    this.#contacts += size;
    if (this.#target !== undefined && chunk < this.#target.known) {
      const { id, known, knownDigest } = this.#target;
      const isLast = chunk === known - 1 && knownDigest !== '';
      if (isLast && digest !== knownDigest) throw otherList(id);
      return;
    }
    if (this.#pending.length >= MAX_PENDING) await this.#pending.shift();
    const { sealing, findKey, keepFailedMs: keepMs } = this.#settings;
    const payload = encodePayload(json, batchSeal(sealing, this.#target?.id ?? ''));
    const hashes = findKey && numbers.map((number) => hashNumber(findKey, number));
    const find = hashes && { prints: encodeFingerprints(hashes, ofRows), keepMs };
    const last = this.#pending.at(-1);
    const store = async () => {
      // Both, so that neither rejection is unhandled.
      const [bytes] = await Promise.all([payload, last]);
      await this.#store({ chunk, size, rows, digest, before, payload: bytes, find });
    };
    const stored = store();
    // A later call awaits it and throws.
    stored.catch(() => {});
    this.#pending.push(stored);
  }

  /** Resolves when all chunks are stored and have jobs. */
  async end(): Promise<void> {
    if (this.#target !== undefined && this.chunks < this.#target.known) {
      throw otherList(this.#target.id);
    }
    await Promise.all(this.#pending);
    await this.#queue();
  }

  /**
   * Once {@link end} has stored all chunks. @param whole digest of the whole list @throws NoticeQueueError
   * BATCH_CONFLICT
   */
  async endImport(tally: RowTally, whole: string): Promise<void> {
    if (this.#target === undefined) return;
    const { ledger, id } = this.#target;
    const { refusedRows, duplicateRows } = tally;
    const rows = { refused: refusedRows.toString(), duplicate: duplicateRows.toString() };
    const stored = { chunks: this.chunks, digest: this.#digest, contacts: this.#contacts, whole };
    const result = await this.#retry(() =>
      ledger.endImport(id, tally.refused, tally.duplicates, stored, rows),
    );
    if (result === 'gone') throw await this.#goneError(this.#target);
    if (result === 'other') throw otherList(id);
  }

  /** After a failure elsewhere: waits until no chunk is being stored. Never throws. */
  async abandon(): Promise<void> {
    await Promise.allSettled(this.#pending);
  }

  async #store(chunk: StoredChunk): Promise<void> {
    const { size, payload, find } = chunk;
    const bytes = payload.length + (find?.prints.length ?? 0) + CHUNK_OVERHEAD_BYTES;
    this.bytes += bytes;
    if (this.#target === undefined) return;
    const { ledger, id } = this.#target;
    await this.#waitForRoom(this.#target, bytes);
    const result = await this.#retry(() => ledger.store(id, chunk));
    if (result === 'gone') throw await this.#goneError(this.#target);
    if (result === 'other') throw otherList(id);
    if (result === 'known') return;
    this.stored += size;
    this.#unsent += size;
    this.#refreshIn--;
    this.#unqueued++;
    const due = performance.now() - this.#queuedAt >= QUEUE_AFTER_MS;
    if (due || this.#unqueued >= QUEUE_AFTER_CHUNKS) await this.#queue();
  }

  /**
   * Waits while Redis holds `highWater` unsent contacts, or has no memory for a chunk; chunks stored before get jobs
   * first. Returns, too, when the batch was cancelled meanwhile: what is stored next reports it.
   *
   * @throws NoticeQueueError REDIS_FULL after a minute without memory
   */
  async #waitForRoom(target: WriterTarget, bytes: number): Promise<void> {
    const { ledger, id, room, onWaiting } = target;
    let until = 0;
    let before: ImportProgress['waiting'] = false;
    for (;;) {
      const waits = before !== false;
      const isFull = !(await room.has(bytes));
      const { phase = 'cancelled' } = (waits && (await this.#retry(() => ledger.read(id)))) || {};
      if ((waits && phase === 'cancelled') || !(isFull || (await this.#isHigh(target)))) {
        if (waits) onWaiting(false);
        return;
      }
      if (!waits) await this.#queue();
      const reason = isFull ? 'memory' : 'high-water';
      if (reason !== before) onWaiting(reason);
      if (!waits || !isFull) until = performance.now() + FULL_MS;
      else if (performance.now() > until) throw new NoticeQueueError('REDIS_FULL');
      before = reason;
      await pauseFor(POLL_MS, this.#options.signal);
    }
  }

  /** Reads the unsent contacts again where that is due. */
  async #isHigh({ ledger }: WriterTarget): Promise<boolean> {
    const { highWater = this.#settings.highWater } = this.#options;
    if (this.#refreshIn > 0 && this.#unsent < highWater) return false;
    this.#unsent = await this.#retry(() => ledger.unsent());
    this.#refreshIn = REFRESH_AFTER_CHUNKS;
    return this.#unsent >= highWater;
  }

  async #retry<Result>(step: () => Promise<Result>): Promise<Result> {
    return retryWhileAway(step, this.#options.signal);
  }

  async #queue(): Promise<void> {
    if (this.#target === undefined) return;
    const { queueChunks, id } = this.#target;
    await this.#retry(() => queueChunks(id));
    this.#unqueued = 0;
    this.#queuedAt = performance.now();
  }

  async #goneError({ ledger, id }: WriterTarget): Promise<NoticeQueueError> {
    const batch = await this.#retry(() => ledger.read(id));
    if (batch?.phase === 'cancelled') return new NoticeQueueError('BATCH_CANCELLED');
    // A shorter list was imported into it at the same time.
    if (batch !== undefined && batch.importedAt > 0) return otherList(id);
    return new NoticeQueueError(
      'IMPORT_STOPPED',
      'Redis lost the chunks that were stored last; this can happen when Redis is killed.',
    );
  }
}

function otherList(id: string): NoticeQueueError {
  return new NoticeQueueError(
    'BATCH_CONFLICT',
    `Batch ${id} was started with another list, or with another choice of --allow-duplicates (allowDuplicates); nothing more was queued.`,
  );
}

import { NoticeQueueError } from '../../contracts/errors.ts';
import { encodeFingerprints } from '../../number-index/chunk-fingerprints.ts';
import { hashNumber, type FindKey } from '../../number-index/number-key.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { retryWhileAway, pauseFor } from './retry-while-away.ts';
import type { PayloadKey } from '../payload/payload-key.ts';
import { encodePayload } from '../payload/payload.ts';

/** Chunks that are compressed and stored while the next rows are read. */
const IN_FLIGHT = 4;
/** So many stored chunks, or so long a time, and they are given jobs. */
const QUEUE_AFTER_CHUNKS = 50;
const QUEUE_AFTER_MS = 500;
/** How often it looks whether workers have sent enough. */
const LOOK_AGAIN_MS = 250;
/** The account's unsent contacts are read anew after so many chunks: others import, too. */
const TRUST_CHUNKS = 20;
/** What a chunk takes in Redis beside its payload: its job, its fields, its state. Measured. */
const CHUNK_OVERHEAD_BYTES = 1_250;

/** How a chunk is stored. */
export interface WriterKeys {
  /** Seals payloads. */
  readonly payload?: PayloadKey | undefined;
  /** Hashes numbers for the find index, and how long they are kept there; none without. */
  readonly find?: { readonly key: FindKey; readonly keepMs: number } | undefined;
}

/** What the writer needs to know of its batch. */
export interface WriterTarget {
  readonly ledger: Ledger;
  readonly queueChunks: (id: string) => Promise<void>;
  readonly id: string;
  /** Chunks that an earlier run stored: they are passed over. */
  readonly known: number;
  readonly highWater: number;
  /** Called when it begins and when it ends to wait for workers. */
  readonly onWaiting: (waiting: boolean) => void;
}

/**
 * Stores chunks in their order, a few at a time under way, and gives them jobs. Without a target it
 * only counts what they would take.
 *
 * It stops taking more while a few are under way, and they stop while too many contacts wait in
 * Redis: so both this process and Redis stay bounded. Whatever fails, fails the next call.
 */
export class ChunkWriter {
  readonly #target: WriterTarget | undefined;
  readonly #keys: WriterKeys;
  readonly #signal: AbortSignal | undefined;
  /** Chunks handed over, and contacts in those that Redis holds now because of this run. */
  chunks = 0;
  stored = 0;
  /** What the chunks of this run take in Redis. */
  bytes = 0;
  #tail: Promise<void> = Promise.resolve();
  #underWay = 0;
  #unqueued = 0;
  #queuedAt = performance.now();
  #unsent = 0;
  #trusted = 0;

  constructor(target: WriterTarget | undefined, keys: WriterKeys, signal: AbortSignal | undefined) {
    this.#target = target;
    this.#keys = keys;
    this.#signal = signal;
  }

  /** Whether the numbers of a chunk are needed beside its contacts. */
  get wantsNumbers(): boolean {
    return this.#keys.find !== undefined;
  }

  /**
   * @param json the array of its contacts
   * @param size how many they are
   * @param numbers of the contacts, where {@link ChunkWriter.wantsNumbers}
   * @param rows rows of the list up to the chunk's end
   */
  async add(json: Buffer, size: number, numbers: readonly string[], rows: number): Promise<void> {
    const chunk = this.chunks++;
    if (this.#target !== undefined && chunk < this.#target.known) return;
    while (this.#underWay >= IN_FLIGHT) await this.#oldest();
    const payload = encodePayload(json, this.#keys.payload);
    payload.catch(() => {});
    const { find } = this.#keys;
    const prints =
      find === undefined
        ? undefined
        : encodeFingerprints(numbers.map((number) => hashNumber(find.key, number)));
    this.#underWay++;
    const tail = this.#tail.then(async () => {
      await this.#store(chunk, size, rows, await payload, prints);
      this.#underWay--;
      this.#wake();
    });
    // Whoever waits next gets the failure; until then it is nobody's.
    tail.catch(() => this.#wake());
    this.#tail = tail;
  }

  /** Resolves when everything handed over is stored and has a job. */
  async end(): Promise<void> {
    await this.#tail;
    await this.#queue();
  }

  /** Lets what is under way end, after something else failed. */
  async abandon(): Promise<void> {
    await this.#tail.catch(() => {});
  }

  #wake = (): void => {};

  /** Resolves when one more is stored, and fails once one has failed. */
  async #oldest(): Promise<void> {
    const tail = this.#tail;
    const one = new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    await Promise.race([one, tail]);
    // A failure wakes, too.
    if (this.#underWay >= IN_FLIGHT) await tail;
  }

  async #store(
    chunk: number,
    size: number,
    rows: number,
    payload: Buffer,
    prints: Buffer | undefined,
  ): Promise<void> {
    this.bytes += payload.length + (prints?.length ?? 0) + CHUNK_OVERHEAD_BYTES;
    if (this.#target === undefined) return;
    const { ledger, id } = this.#target;
    await this.#room(this.#target);
    const find =
      prints === undefined ? undefined : { prints, keepMs: this.#keys.find?.keepMs ?? 0 };
    const word = await retryWhileAway(
      () => ledger.store(id, chunk, size, rows, payload, find),
      this.#signal,
    );
    if (word === 'gone') throw await this.#gone(this.#target);
    if (word === 'known') return;
    this.stored += size;
    this.#unsent += size;
    this.#trusted--;
    this.#unqueued++;
    const due = performance.now() - this.#queuedAt >= QUEUE_AFTER_MS;
    if (due || this.#unqueued >= QUEUE_AFTER_CHUNKS) await this.#queue();
  }

  /** Waits while as many contacts as allowed are in Redis. What is stored gets its jobs first. */
  async #room({ ledger, id, highWater, onWaiting }: WriterTarget): Promise<void> {
    if (this.#trusted > 0 && this.#unsent < highWater) return;
    const look = async () => {
      this.#unsent = await retryWhileAway(() => ledger.unsent(), this.#signal);
      this.#trusted = TRUST_CHUNKS;
    };
    await look();
    if (this.#unsent < highWater) return;
    await this.#queue();
    onWaiting(true);
    while (this.#unsent >= highWater) {
      await pauseFor(LOOK_AGAIN_MS, this.#signal);
      // A batch that was cancelled meanwhile has no use for room.
      const batch = await retryWhileAway(() => ledger.read(id), this.#signal);
      if (batch === undefined || batch.phase === 'cancelled') break;
      await look();
    }
    onWaiting(false);
  }

  async #queue(): Promise<void> {
    if (this.#target === undefined) return;
    const { queueChunks, id } = this.#target;
    await retryWhileAway(() => queueChunks(id), this.#signal);
    this.#unqueued = 0;
    this.#queuedAt = performance.now();
  }

  async #gone({ ledger, id }: WriterTarget): Promise<NoticeQueueError> {
    const batch = await retryWhileAway(() => ledger.read(id), this.#signal);
    if (batch?.phase === 'cancelled') return new NoticeQueueError('BATCH_CANCELLED');
    return new NoticeQueueError(
      'IMPORT_STOPPED',
      'Redis lost the chunks that were stored last, as it may when it is killed.',
    );
  }
}

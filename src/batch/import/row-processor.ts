import { createHash, createHmac, type Hash } from 'node:crypto';
import {
  contactBytes,
  numberOf,
  type ContactBlock,
  type SourcePart,
  type SourceRow,
  type SourceRun,
} from '../source/source-row.ts';
import type { ContactRow } from '../source/check-row.ts';
import type { ChunkWriter, NewChunk } from './chunk-writer.ts';
import { FULL_CHUNK_BYTES, originsText } from '../../payload/chunk-payload.ts';
import { RowNumbers } from '../../payload/row-numbers.ts';
import type { NumberPrints } from '../../number-index/number-prints.ts';
import { NumberSet } from './number-set.ts';
import type { RejectsFile } from './rejects-file.ts';
import type { RowTally } from './row-tally.ts';

export interface RowProcessorOptions {
  readonly tally: RowTally;
  /** Gets the chunks; undefined where the rows are only checked and counted. */
  readonly writer?: ChunkWriter;
  /** Undefined where refused rows are only counted. */
  readonly rejects?: RejectsFile | undefined;
  readonly chunkSize?: number;
  readonly allowDuplicates: boolean;
  /** Names of what is kept of each row and not sent. */
  readonly keep?: readonly string[];
  /** Collects the prints of the numbers that become contacts. */
  readonly prints?: NumberPrints | undefined;
  /** Prints of numbers that are left out. */
  readonly leftOut?: ReadonlySet<number> | undefined;
  /** Gets all valid rows, in order. */
  readonly digest: ListDigest;
}

/**
 * Processes the rows of a list in order: counts each, skips repeated phone numbers, writes refused
 * rows to the rejects file, and passes every full chunk to the writer.
 */
export class RowProcessor {
  readonly #options: RowProcessorOptions;
  /** Numbers seen so far; undefined where duplicates are allowed. */
  readonly #seen: NumberSet | undefined;
  readonly #chunk: ChunkBuilder | undefined;

  constructor(options: RowProcessorOptions) {
    this.#options = options;
    this.#chunk = options.writer && new ChunkBuilder(options.writer.wantsNumbers, options);
    this.#seen = options.allowDuplicates ? undefined : new NumberSet();
  }

  async process(parts: readonly SourcePart[]): Promise<void> {
    for (const part of parts) {
      if ('block' in part) await this.#processRun(part);
      else await this.#processRow(part);
    }
  }

  /** Writes the last chunk, which may be smaller. */
  async end(): Promise<void> {
    if (this.#chunk !== undefined && this.#chunk.size > 0) await this.#writeChunk();
  }

  async #processRow({ row, line, check, original }: SourceRow): Promise<void> {
    const { tally, rejects, digest } = this.#options;
    if (check.kind === 'contact') {
      digest.addJson(check.json);
      tally.countEmpty(check.empty);
    }
    if (check.kind === 'refused') {
      tally.countRefused(row, line, check);
      await rejects?.add(row, line, check, original);
    } else if (this.#seen?.add(check.number) === false) {
      tally.countDuplicate(row);
    } else if (this.#isLeftOut(check.number)) {
      tally.countRepeated(row);
    } else {
      tally.countContact(check.repaired);
      this.#options.prints?.addText(check.number);
      this.#chunk?.addJson(row, check);
      if (this.#chunk?.isFull === true) await this.#writeChunk();
    }
  }

  async #processRun({ block, from, to, empty }: SourceRun): Promise<void> {
    const { tally, digest, prints } = this.#options;
    tally.countEmpty(empty);
    let digested = from;
    for (let index = from; index < to; index++) {
      const value = block.numbers[index] ?? 0;
      const digits = block.digits[index] ?? 0;
      if (this.#seen?.addNumber(value, digits) === false) {
        tally.countDuplicate(block.rows[index] ?? 0);
        continue;
      }
      if (this.#isLeftOut({ value, digits })) {
        tally.countRepeated(block.rows[index] ?? 0);
        continue;
      }
      tally.countContact();
      prints?.add(value, digits);
      if (this.#chunk === undefined) continue;
      this.#chunk.add(block, index);
      if (!this.#chunk.isFull) continue;
      digest.addRun(block, digested, index + 1);
      digested = index + 1;
      await this.#writeChunk();
    }
    digest.addRun(block, digested, to);
  }

  #isLeftOut(number: Parameters<NumberPrints['of']>[0]): boolean {
    const { leftOut, prints } = this.#options;
    return leftOut !== undefined && prints !== undefined && leftOut.has(prints.of(number));
  }

  async #writeChunk(): Promise<void> {
    const { tally, writer, digest } = this.#options;
    if (this.#chunk === undefined) return;
    const { size } = this.#chunk;
    await writer?.add({ ...this.#chunk.take(), size, rows: tally.rows, digest: digest.content() });
  }
}

const OPEN = 0x5b;
const CLOSE = Buffer.from(']');

/** Collects the contacts of one chunk as the bytes of a JSON array, with their rows. */
class ChunkBuilder {
  size = 0;
  /** Bytes of their JSON. Counted for each contact: the same list has the same chunks, however it is read. */
  #bytes = 0;
  #pieces: Buffer[] = [];
  #numbers: string[] = [];
  #rows = new RowNumbers();
  #cells: (readonly string[])[] = [];
  readonly #options: RowProcessorOptions;
  readonly #keepsNumbers: boolean;
  /** The last piece, which may still grow: contacts of this block, from one index to another. */
  #run: { readonly block: ContactBlock; readonly from: number; to: number } | undefined;

  /** @param keepsNumbers whether {@link take} also returns the phone numbers */
  constructor(keepsNumbers: boolean, options: RowProcessorOptions) {
    this.#keepsNumbers = keepsNumbers;
    this.#options = options;
  }

  /** Whether it ends with the last contact. */
  get isFull(): boolean {
    const { chunkSize = Infinity } = this.#options;
    return this.size >= chunkSize || this.#bytes >= FULL_CHUNK_BYTES;
  }

  add(block: ContactBlock, index: number): void {
    this.size++;
    this.#bytes += contactBytes(block, index);
    this.#rows.add(block.rows[index] ?? 0);
    if (this.#keepsNumbers) this.#numbers.push(numberOf(block, index));
    if (this.#run?.block === block && this.#run.to === index) {
      this.#run.to = index + 1;
      return;
    }
    this.#endRun();
    this.#run = { block, from: index, to: index + 1 };
  }

  addJson(row: number, { json, number, kept }: ContactRow): void {
    this.size++;
    this.#rows.add(row);
    if (this.#keepsNumbers) this.#numbers.push(number);
    this.#endRun();
    const piece = Buffer.from(`,${json}`);
    this.#bytes += piece.length;
    if (kept !== undefined) {
      this.#cells.push(kept);
      this.#bytes += kept.join('').length;
    }
    this.#pieces.push(piece);
  }

  take(): Pick<NewChunk, 'json' | 'numbers' | 'ofRows'> {
    this.#endRun();
    const ofRows = this.#rows.toString();
    const origins = Buffer.from(originsText(ofRows, this.#options.keep ?? [], this.#cells));
    this.#rows = new RowNumbers();
    this.#cells = [];
    const json = Buffer.concat([...this.#pieces, CLOSE, origins]);
    // Replaces the comma before the first contact.
    json[0] = OPEN;
    this.#pieces = [];
    const numbers = this.#numbers;
    this.#numbers = [];
    this.size = 0;
    this.#bytes = 0;
    return { json, numbers, ofRows };
  }

  #endRun(): void {
    if (this.#run === undefined) return;
    const { block, from, to } = this.#run;
    const start = from === 0 ? 0 : block.ends[from - 1];
    this.#pieces.push(block.json.subarray(start, block.ends[to - 1]));
    this.#run = undefined;
  }
}

/**
 * What identifies a list: a keyed hash of the request body that its contacts share (template, sender keys, other
 * fields) and of the contacts that its valid rows become, in order and before duplicates are skipped. File
 * format, compression, encoding and refused rows do not change it; neither do the options of sending. Of a list that is
 * read once it is the digest of the head, in which refused rows count.
 */
export class ListDigest {
  readonly #hash: Hash;
  readonly #secret: string;
  contacts = 0;

  /**
   * @param frame the shared part of the request body, in a form that does not depend on its order
   * @param secret of the account: there are so few phone numbers that those of a hash without it could be found
   */
  constructor(frame: string, secret: string) {
    this.#secret = secret;
    this.#hash = createHash('sha256').update(`${frame}\n`);
  }

  content(): string {
    const digest = this.#hash.copy().digest();
    return createHmac('sha256', this.#secret).update(digest).digest('base64url');
  }

  /** Adds rows; refused ones are ignored. */
  addPart(part: SourcePart): void {
    if ('block' in part) this.addRun(part.block, part.from, part.to);
    else if (part.check.kind === 'contact') this.addJson(part.check.json);
  }

  addRun({ json, ends }: ContactBlock, from: number, to: number): void {
    if (from === to) return;
    const startOf = (index: number) => (index === 0 ? 0 : (ends[index - 1] ?? 0));
    this.#add(json.subarray(startOf(from), startOf(to)), to - from);
  }

  addJson(json: string): void {
    this.#add(Buffer.from(`,${json}`), 1);
  }

  #add(bytes: Buffer, contacts: number): void {
    this.#hash.update(bytes);
    this.contacts += contacts;
  }
}

import { NoticeQueueError } from '../../contracts/errors.ts';
import { checkCells } from './check-row.ts';
import { readColumns, type Columns, type FieldMap } from './column-map.ts';
import { endOfLine, readRow, type CsvRow } from './csv-row.ts';
import { csvError } from './csv-structure.ts';
import { FastCsvOptions } from './fast-csv-reader.ts';
import { MAX_ROW_LENGTH, type SourceReader, type SourcePart } from './source-row.ts';

/** How a CSV list is to be read. */
export interface CsvOptions {
  readonly delimiter: string;
  /** Whether its first row names the columns. */
  readonly header: boolean;
  readonly map?: FieldMap | undefined;
}

/**
 * Reads a CSV list: quotes as in RFC 4180, any of the three ends of lines, empty lines skipped.
 *
 * @param text UTF-8, no character cut in two
 * @throws NoticeQueueError SOURCE_INVALID where there are no columns, or not the ones it needs, and
 * from the rows where the structure is broken
 */
export async function readCsv(
  text: AsyncIterable<Buffer>,
  options: CsvOptions,
): Promise<SourceReader> {
  const list = new CsvText(text, options.delimiter);
  const first = await list.firstRow();
  if (first === undefined) {
    throw new NoticeQueueError('SOURCE_INVALID', 'The list is empty: there is no first row.');
  }
  const columns = readColumns(first.cells, options);
  return { titles: columns.titles, rows: list.rows(columns, options.header) };
}

/** The text of a list, of which some was read and some is at hand. */
class CsvText {
  readonly #pieces: AsyncIterator<Buffer>;
  readonly #delimiter: Buffer;
  #text: Buffer = Buffer.alloc(0);
  #at = 0;
  #line = 1;
  /** Nothing comes behind the text at hand. */
  #last = false;

  constructor(pieces: AsyncIterable<Buffer>, delimiter: string) {
    this.#pieces = pieces[Symbol.asyncIterator]();
    this.#delimiter = Buffer.from(delimiter);
  }

  /** The first row that is not empty, not yet passed; undefined where there is none. */
  async firstRow(): Promise<CsvRow | undefined> {
    for (;;) {
      const row = this.#row();
      if (row !== undefined) return row;
      if (this.#last) return undefined;
      await this.#more();
    }
  }

  /** @param header whether the first row is no contact */
  async *rows(columns: Columns, header: boolean): AsyncGenerator<readonly SourcePart[], void> {
    try {
      if (header) {
        const row = await this.firstRow();
        if (row !== undefined) this.#pass(row);
      }
      const [byte] = this.#delimiter;
      const plain =
        this.#delimiter.length === 1 && byte !== undefined && columns.isPlain
          ? new FastCsvOptions(columns, byte)
          : undefined;
      for (;;) {
        const parts = this.#atHand(columns, plain);
        if (parts.length > 0) yield parts;
        if (this.#last) return;
        await this.#more();
      }
    } finally {
      await this.#pieces.return?.();
    }
  }

  /** All rows that are complete. */
  #atHand(columns: Columns, plain: FastCsvOptions | undefined): SourcePart[] {
    const parts: SourcePart[] = [];
    for (;;) {
      if (plain !== undefined) {
        const run = plain.read(this.#text, this.#at, this.#line, this.#last);
        this.#at = run.next;
        this.#line = run.nextLine;
        if (run.to > run.from) {
          parts.push(run);
          // It may have ended because its block was full.
          continue;
        }
      }
      const row = this.#row();
      if (row === undefined) return parts;
      const check = checkCells(row.cells, columns);
      const original = check.kind === 'refused' ? row.cells : undefined;
      parts.push({ line: this.#line, check, original });
      this.#pass(row);
    }
  }

  /** The next row, not yet passed; undefined where it is not complete. Passes empty lines. */
  #row(): CsvRow | undefined {
    while (this.#text[this.#at] === LF || this.#text[this.#at] === CR) {
      const next = endOfLine(this.#text, this.#at, this.#last);
      if (next === undefined) return undefined;
      this.#at = next;
      this.#line++;
    }
    if (this.#at >= this.#text.length) return undefined;
    return readRow(this.#text, this.#at, this.#delimiter, this.#line, this.#last);
  }

  #pass(row: CsvRow): void {
    this.#at = row.next;
    this.#line = row.nextLine;
  }

  /** @throws NoticeQueueError SOURCE_INVALID for a row without an end */
  async #more(): Promise<void> {
    const rest = this.#text.subarray(this.#at);
    if (rest.length > MAX_ROW_LENGTH && rest.toString().length > MAX_ROW_LENGTH) {
      throw csvError(
        this.#line,
        1,
        `the row is longer than ${MAX_ROW_LENGTH} characters, or a quote is never closed`,
      );
    }
    const next = await this.#pieces.next();
    this.#last = next.done === true;
    if (next.done !== true) {
      this.#text = rest.length === 0 ? next.value : Buffer.concat([rest, next.value]);
      this.#at = 0;
    }
  }
}

const LF = 0x0a;
const CR = 0x0d;

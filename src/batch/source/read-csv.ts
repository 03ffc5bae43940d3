import { NoticeQueueError } from '../../contracts/errors.ts';
import { checkCells } from './check-row.ts';
import { readColumns, type Columns } from './column-map.ts';
import { endOfLine, readRow, type CsvRow } from './csv-row.ts';
import { csvError } from './csv-structure.ts';
import { FastCsvReader } from './fast-csv-reader.ts';
import type { FieldMap } from './sent-columns.ts';
import { MAX_ROW_LENGTH, type SourceReader, type SourcePart } from './source-row.ts';

/** How a CSV list is read. */
export interface CsvOptions {
  readonly delimiter: string;
  /** Whether the first row contains the titles of the columns. */
  readonly header: boolean;
  readonly map?: FieldMap | undefined;
  /** Whether columns that are neither mapped nor `contact` nor `varN` are sent. */
  readonly passThrough: boolean;
}

/**
 * Reads a CSV list: quotes as in RFC 4180; lines end with LF, CRLF or CR; empty lines are skipped.
 *
 * @param text UTF-8 in pieces that end with a complete character
 * @throws NoticeQueueError SOURCE_INVALID if columns are missing or invalid; from `rows` for a
 * misplaced quote or a row that is too long
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
  return {
    titles: columns.titles,
    columns: () => columns.sent,
    rows: list.rows(columns),
  };
}

/** Reads rows from text that arrives in pieces. */
class CsvText {
  readonly #pieces: AsyncIterator<Buffer>;
  readonly #delimiter: Buffer;
  /** Text that was received and not yet read completely. */
  #text: Buffer = Buffer.alloc(0);
  /** Offset of the next row. */
  #at = 0;
  #line = 1;
  /** Whether the list ends with this text. */
  #last = false;

  constructor(pieces: AsyncIterable<Buffer>, delimiter: string) {
    this.#pieces = pieces[Symbol.asyncIterator]();
    this.#delimiter = Buffer.from(delimiter);
  }

  /** The first row that is not empty; the position stays before it. Undefined if there is none. */
  async firstRow(): Promise<CsvRow | undefined> {
    for (;;) {
      const row = this.#row();
      if (row !== undefined) return row;
      if (this.#last) return undefined;
      await this.#receive();
    }
  }

  /** All rows, without that of the titles. */
  async *rows(columns: Columns): AsyncGenerator<readonly SourcePart[], void> {
    try {
      if (columns.header) {
        const row = await this.firstRow();
        if (row !== undefined) this.#skip(row);
      }
      const [byte] = this.#delimiter;
      const fast =
        this.#delimiter.length === 1 && byte !== undefined && columns.isPlain
          ? new FastCsvReader(columns, byte)
          : undefined;
      for (;;) {
        const parts = this.#completeRows(columns, fast);
        if (parts.length > 0) yield parts;
        if (this.#last) return;
        await this.#receive();
      }
    } finally {
      await this.#pieces.return?.();
    }
  }

  /** All complete rows of the received text. */
  #completeRows(columns: Columns, fast: FastCsvReader | undefined): SourcePart[] {
    const parts: SourcePart[] = [];
    for (;;) {
      if (fast !== undefined) {
        const run = fast.read(this.#text, this.#at, this.#line, this.#last);
        this.#at = run.next;
        this.#line = run.nextLine;
        if (run.to > run.from) {
          parts.push(run);
          // The run may have ended because its block is full: there may be more plain rows.
          continue;
        }
      }
      const row = this.#row();
      if (row === undefined) return parts;
      const check = checkCells(row.cells, columns);
      const original = check.kind === 'refused' ? columns.original(row.cells) : undefined;
      parts.push({ line: this.#line, check, original });
      this.#skip(row);
    }
  }

  /** The next row, if it is complete; the position stays before it. Skips empty lines. */
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

  #skip(row: CsvRow): void {
    this.#at = row.next;
    this.#line = row.nextLine;
  }

  /** Waits for more text. @throws NoticeQueueError SOURCE_INVALID for a row that is too long */
  async #receive(): Promise<void> {
    const rest = this.#text.subarray(this.#at);
    if (rest.length > MAX_ROW_LENGTH && charactersOf(rest) > MAX_ROW_LENGTH) {
      throw csvError(
        this.#line,
        1,
        `the row is longer than ${MAX_ROW_LENGTH} characters, or a quote is never closed`,
      );
    }
    // A row that is not complete is read again from its start: with at least as much text as before, so that
    // a long row in small pieces takes time in proportion to its length.
    const pieces = [rest];
    for (let length = 0; length === 0 || length < rest.length;) {
      const next = await this.#pieces.next();
      this.#last = next.done === true;
      if (next.done === true) break;
      pieces.push(next.value);
      length += next.value.length;
    }
    this.#text =
      rest.length === 0 && pieces.length === 2 ? (pieces[1] ?? rest) : Buffer.concat(pieces);
    this.#at = 0;
  }
}

const LF = 0x0a;
const CR = 0x0d;

/** As the check of a file counts them: else a row that it accepts would end the import in the middle of the list. */
function charactersOf(text: Buffer): number {
  let count = 0;
  for (const byte of text) if ((byte & 0xc0) !== 0x80) count++;
  return count;
}

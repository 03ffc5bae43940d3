import { checkCells, CUT, isBlank, refused, type RowCheck } from './check-row.ts';
import { readColumns, type Columns, type CsvOptions } from './column-map.ts';
import { endOfLine, readRow, tooLong, type CsvRow } from './csv-row.ts';
import { FastCsvReader } from './fast-csv-reader.ts';
import { MAX_ROW_LENGTH, numberOf, type SourceReader, type SourcePart } from './source-row.ts';
import { invalidList, type Sample } from './describe-columns.ts';

/**
 * Reads a CSV list: quotes as in RFC 4180; lines end with LF, CRLF or CR; empty lines are skipped, and so are rows of
 * nothing but delimiters and blanks. A first line such as `sep=;` names the delimiter, unless the options do.
 *
 * @param text UTF-8 in pieces that end with a complete character
 * @throws NoticeQueueError SOURCE_INVALID if columns are missing or invalid; from `rows` for a
 * misplaced quote or a row that is too long
 */
export async function readCsv(
  text: AsyncIterable<Buffer>,
  options: CsvOptions,
): Promise<SourceReader> {
  const list = new CsvText(text, options.delimiter, options.file);
  const first = await list.firstRow();
  if (first === undefined) {
    throw invalidList('The list is empty: there is no first row.');
  }
  const { delimiter } = list;
  const columns = readColumns(first.cells, { ...options, delimiter, sample: list.sample(first) });
  return {
    titles: columns.titles,
    isFailures: columns.isFailures,
    columns: () => columns.sent,
    rows: list.rows(columns),
  };
}

/** The records of a CSV list as they are, that of the titles included, with their row numbers. */
export async function* readRecords(
  text: AsyncIterable<Buffer>,
  delimiter: string | undefined,
  file: string,
): AsyncGenerator<{ readonly row: number; readonly cells: readonly string[] }, void> {
  yield* new CsvText(text, delimiter, file).records();
}

/** The delimiter of a list where neither the options nor its first line name one. */
export const usualDelimiter = (file = '') => (/\.tsv(?:\.gz)?$/i.test(file) ? '\t' : ',');

/** Reads rows from text that arrives in pieces. */
class CsvText {
  readonly #pieces: AsyncIterator<Buffer>;
  readonly #isNamed: boolean;
  #delimiter: Buffer;
  /** Text that was received and not yet read completely. */
  #text: Buffer = Buffer.alloc(0);
  #at = 0;
  #line = 1;
  /** Number of the next row: less than the line after cells with line breaks. */
  #rowNumber = 1;
  /** The last number that was taken. */
  #number = '';
  /** Whether the list ends with this text. */
  #last = false;

  constructor(pieces: AsyncIterable<Buffer>, delimiter: string | undefined, file?: string) {
    this.#pieces = pieces[Symbol.asyncIterator]();
    this.#isNamed = delimiter !== undefined;
    this.#delimiter = Buffer.from(delimiter ?? usualDelimiter(file));
  }

  /** The first row that is not empty; the position stays before it. Undefined if there is none. */
  async firstRow(): Promise<CsvRow | undefined> {
    if (this.#line === 1 && this.#at === 0 && this.#text.length === 0) await this.#readSeparator();
    for (;;) {
      const row = this.#row();
      if (row !== undefined) return row;
      if (this.#last) return undefined;
      await this.#receive();
    }
  }

  async *records(): AsyncGenerator<{ readonly row: number; readonly cells: readonly string[] }> {
    for (let row = await this.firstRow(); row !== undefined; row = await this.firstRow()) {
      yield { row: this.#rowNumber, cells: row.cells };
      this.#skip(row);
    }
  }

  get delimiter(): string {
    return this.#delimiter.toString();
  }

  /** Rows after the first one, as many as were received; at most twenty. */
  sample({ next, nextLine }: CsvRow): Sample {
    const rows = new Map<number, readonly string[]>();
    let [at, line] = [next, nextLine];
    while (rows.size < MOST_SAMPLED && at < this.#text.length) {
      const row = sampled(this.#text, at, this.#delimiter, line);
      if (row === undefined) break;
      rows.set(this.#rowNumber + rows.size + 1, row.cells);
      [at, line] = [row.next, row.nextLine];
    }
    return rows;
  }

  async #readSeparator(): Promise<void> {
    while (!this.#last && this.#text.length < SEPARATOR_BYTES) await this.#receive();
    const line = SEPARATOR.exec(this.#text.toString('utf8', 0, SEPARATOR_BYTES));
    if (line?.[1] === undefined) return;
    if (!this.#isNamed) this.#delimiter = Buffer.from(line[1]);
    this.#at = Buffer.byteLength(line[0]);
    this.#line = 2;
    this.#rowNumber = 2;
  }

  async *rows(columns: Columns): AsyncGenerator<readonly SourcePart[], void> {
    try {
      if (columns.header) {
        const row = await this.firstRow();
        if (row !== undefined) this.#skip(row);
      }
      const [byte] = this.#delimiter;
      const fast =
        this.#delimiter.length === 1 &&
        byte !== undefined &&
        columns.isPlain &&
        columns.kept.length === 0
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
        const run = fast.read(this.#text, this.#at, this.#rowNumber, this.#last);
        this.#at = run.next;
        this.#line += run.nextRow - this.#rowNumber;
        this.#rowNumber = run.nextRow;
        if (run.to > run.from) {
          parts.push(run);
          this.#number = numberOf(run.block, run.to - 1);
          // The run may have ended because its block is full: there may be more plain rows.
          continue;
        }
      }
      const row = this.#row();
      if (row === undefined) return parts;
      if (isTooLong(this.#text.subarray(this.#at, row.next))) throw tooLong(this.#line);
      const check = this.#named(checkCells(row.cells, columns), row, columns);
      const original = check.kind === 'refused' ? columns.original(row.cells) : undefined;
      if (check.kind === 'contact') this.#number = check.number;
      parts.push({ row: this.#rowNumber, line: this.#line, check, original });
      this.#skip(row);
    }
  }

  /** The next row, if it is complete; the position stays before it. Skips empty lines and rows of empty cells. */
  #row(): CsvRow | undefined {
    for (;;) {
      const row = this.#anyRow();
      if (row === undefined || !isEmpty(row)) return row;
      this.#skip(row);
    }
  }

  #anyRow(): CsvRow | undefined {
    while (this.#text[this.#at] === LF || this.#text[this.#at] === CR) {
      const next = endOfLine(this.#text, this.#at, this.#last);
      if (next === undefined) return undefined;
      this.#at = next;
      this.#line++;
      this.#rowNumber++;
    }
    if (this.#at >= this.#text.length) return undefined;
    return readRow(this.#text, this.#at, this.#delimiter, this.#line, this.#last);
  }

  /** Says of a row that was cut off with its file that it was, and refuses it. */
  #named(check: RowCheck, { cells, next }: CsvRow, columns: Columns): RowCheck {
    const { width, contact, rules } = columns;
    if (!this.#last || next < this.#text.length) return check;
    const end = this.#text.at(-1);
    if (end === LF || end === CR) return check;
    const isCell = contact.index === width - 1;
    if (check.kind === 'contact') {
      // With a country its numbers are known, and one that begins otherwise is of another kind.
      const isCut =
        isCell &&
        end !== QUOTE &&
        rules.country === undefined &&
        check.number.length < this.#number.length &&
        check.number.startsWith(this.#number.slice(0, 2));
      return isCut
        ? refused(
            contact.title,
            cells.at(-1) ?? '',
            `the number is shorter than the one before; ${CUT}`,
          )
        : check;
    }
    const isShort = isCell && check.implausible === true;
    if (!isShort && cells.length >= width) return check;
    return { ...check, reason: `${check.reason}; ${CUT}` };
  }

  #skip(row: CsvRow): void {
    this.#at = row.next;
    this.#line = row.nextLine;
    this.#rowNumber++;
  }

  /** Waits for more text. @throws NoticeQueueError SOURCE_INVALID for a row that is too long */
  async #receive(): Promise<void> {
    const rest = this.#text.subarray(this.#at);
    if (isTooLong(rest)) {
      // Throws where the row is so long because a quote is never closed.
      readRow(rest, 0, this.#delimiter, this.#line, true);
      throw tooLong(this.#line);
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
const QUOTE = 0x22;
const MOST_SAMPLED = 20;
/** What spreadsheets write before the titles, to name the delimiter. */
const SEPARATOR = /^"?sep=([^"\r\n])"?(?:\r\n|\r|\n)/i;
const SEPARATOR_BYTES = 16;

const isEmpty = ({ cells }: CsvRow): boolean => cells.every(isBlank);

/** A row for an error message: one that cannot be read has an error of its own. */
function sampled(text: Buffer, at: number, delimiter: Buffer, line: number): CsvRow | undefined {
  try {
    return readRow(text, at, delimiter, line, false);
  } catch {
    return undefined;
  }
}

/** In characters, not in bytes. */
function isTooLong(row: Buffer): boolean {
  if (row.length <= MAX_ROW_LENGTH) return false;
  let characters = 0;
  for (const byte of row) if ((byte & 0xc0) !== 0x80) characters++;
  return characters > MAX_ROW_LENGTH;
}

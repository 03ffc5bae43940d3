import { NoticeQueueError } from '../../contracts/errors.ts';
import { DELIMITERS, delimiterHint } from './delimiters.ts';
import { MAX_ROW_LENGTH } from './source-row.ts';

const QUOTE = 0x22;
const LF = 0x0a;
const CR = 0x0d;

const START = 0;
const BARE = 1;
const QUOTED = 2;
const CLOSED = 3;

/**
 * Checks the quotes and the row lengths of a CSV file before any of it is queued. After a misplaced
 * quote it is unknown where the rows start, so such a file is refused as a whole.
 *
 * A state machine over bytes; in UTF-8 none of the bytes it looks for is part of another character:
 * - start of a cell: a quote → quoted; any other character → bare.
 * - quoted: a quote → closed.
 * - closed: a quote → quoted (an escaped quote); a delimiter or line end → start; else an error.
 * - bare: a quote is an error; a delimiter or line end → start.
 */
export class CsvStructure {
  readonly #delimiter: Buffer;
  #state = START;
  #line = 1;
  #column = 1;
  /** Characters of the row so far. */
  #length = 0;
  #openedAt = 1;
  #afterReturn = false;

  constructor(delimiter: string) {
    this.#delimiter = Buffer.from(delimiter);
  }

  /**
   * @param text the next piece; it ends with a complete character
   * @throws NoticeQueueError SOURCE_INVALID with line and column
   */
  write(text: Buffer): void {
    const first = this.#delimiter[0];
    const { length } = this.#delimiter;
    // Local variables: this loop reads every byte of the file.
    let state = this.#state;
    let line = this.#line;
    let column = this.#column;
    let chars = this.#length;
    let afterReturn = this.#afterReturn;
    for (let at = 0; at < text.length; at++) {
      const byte = text[at] ?? 0;
      // Continuation bytes of UTF-8 do not count as characters.
      if ((byte & 0xc0) !== 0x80 && ++chars > MAX_ROW_LENGTH) {
        throw state === QUOTED ? notClosed(this.#openedAt, column) : tooLong(line, column);
      }
      if (byte === LF || byte === CR) {
        if (byte === CR || !afterReturn) line++;
        afterReturn = byte === CR;
        if (state === QUOTED) continue;
        state = START;
        column = 1;
        chars = 0;
        continue;
      }
      afterReturn = false;
      if (byte === QUOTE) {
        if (state === BARE) throw csvError(line, column, QUOTE_IN_CELL);
        if (state === START) this.#openedAt = line;
        state = state === QUOTED ? CLOSED : QUOTED;
      } else if (state !== QUOTED) {
        if (byte === first && (length === 1 || this.#delimits(text, at))) {
          state = START;
          column++;
          at += length - 1;
        } else if (state === CLOSED) throw afterQuote(line, column, byte);
        else state = BARE;
      }
    }
    this.#state = state;
    this.#line = line;
    this.#column = column;
    this.#length = chars;
    this.#afterReturn = afterReturn;
  }

  /** Ends the file. @throws NoticeQueueError SOURCE_INVALID for a quote that is not closed */
  end(): void {
    if (this.#state === QUOTED) throw notClosed(this.#openedAt, this.#column);
  }

  #delimits(text: Buffer, at: number): boolean {
    return text.subarray(at, at + this.#delimiter.length).equals(this.#delimiter);
  }
}

/** Errors of misplaced quotes. */
export const QUOTE_IN_CELL =
  'a quote inside a cell that is not quoted: quote the cell and double the quotes inside it';
const AFTER_QUOTE = 'text after the closing quote of a cell: double the quotes inside the cell';

/** The error of text after a closing quote. @param byte the first of that text */
export function afterQuote(line: number, column: number, byte: number): NoticeQueueError {
  const other = DELIMITERS.find((delimiter) => delimiter.charCodeAt(0) === byte);
  const hint = other === undefined ? '' : ` ${delimiterHint(other)}`;
  return new NoticeQueueError(
    'SOURCE_INVALID',
    `Line ${line}, column ${column}: ${AFTER_QUOTE}.${hint}`,
  );
}

/** The error of a quote that is not closed. */
export function notClosed(openedAt: number, column: number): NoticeQueueError {
  return csvError(openedAt, column, 'a quote is opened here and never closed');
}

function tooLong(line: number, column: number): NoticeQueueError {
  return csvError(line, column, `the row is longer than ${MAX_ROW_LENGTH} characters`);
}

/** An error at a position of a CSV list. */
export function csvError(line: number, column: number, problem: string): NoticeQueueError {
  return new NoticeQueueError('SOURCE_INVALID', `Line ${line}, column ${column}: ${problem}.`);
}

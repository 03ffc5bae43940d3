import { NoticeQueueError } from '../../contracts/errors.ts';
import { MAX_ROW_LENGTH } from './source-row.ts';

const QUOTE = 0x22;
const LF = 0x0a;
const CR = 0x0d;

const START = 0;
const BARE = 1;
const QUOTED = 2;
const CLOSED = 3;

/**
 * Finds what breaks the structure of a CSV file, before any of it is queued: with one quote too many
 * nobody can say where the rows behind it begin, so such a file is refused as a whole.
 *
 * At the start of a cell, and then: a quote → quoted; another character → bare. quoted: a quote →
 * closed. closed: a quote → quoted (it was two for one), a delimiter or the end of the line → start;
 * anything else is wrong. bare: a quote is wrong; a delimiter or the end of the line → start.
 *
 * It goes over the bytes: in UTF-8 none of those it looks for is a part of another character.
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
   * @param text whole characters
   * @throws NoticeQueueError SOURCE_INVALID with line and column
   */
  write(text: Buffer): void {
    const first = this.#delimiter[0];
    const { length } = this.#delimiter;
    // Local while it runs: this is the one look at every byte of the file.
    let state = this.#state;
    let line = this.#line;
    let column = this.#column;
    let chars = this.#length;
    let afterReturn = this.#afterReturn;
    for (let at = 0; at < text.length; at++) {
      const byte = text[at] ?? 0;
      // Continuing bytes are no characters of their own.
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
        } else if (state === CLOSED) throw csvError(line, column, AFTER_QUOTE);
        else state = BARE;
      }
    }
    this.#state = state;
    this.#line = line;
    this.#column = column;
    this.#length = chars;
    this.#afterReturn = afterReturn;
  }

  /** @throws NoticeQueueError SOURCE_INVALID for a quote that was never closed */
  end(): void {
    if (this.#state === QUOTED) throw notClosed(this.#openedAt, this.#column);
  }

  #delimits(text: Buffer, at: number): boolean {
    return text.subarray(at, at + this.#delimiter.length).equals(this.#delimiter);
  }
}

/** What can be wrong with a quote. */
export const QUOTE_IN_CELL =
  'there is a quote inside a cell that does not begin with one: put the cell into quotes and double the quote';
export const AFTER_QUOTE =
  'something follows the closing quote of a cell: double the quotes inside it';

export function notClosed(openedAt: number, column: number): NoticeQueueError {
  return csvError(openedAt, column, 'a quote is opened there and never closed');
}

function tooLong(line: number, column: number): NoticeQueueError {
  return csvError(line, column, `the row is longer than ${MAX_ROW_LENGTH} characters`);
}

/** One place of a CSV list, and what is wrong there. */
export function csvError(line: number, column: number, what: string): NoticeQueueError {
  return new NoticeQueueError('SOURCE_INVALID', `Line ${line}, column ${column}: ${what}.`);
}

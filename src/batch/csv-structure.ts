import { NoticeQueueError } from '../errors.ts';
import { MAX_ROW_LENGTH } from './source-row.ts';

const QUOTE = 0x22;
const LF = 0x0a;
const CR = 0x0d;

/**
 * Finds what breaks the structure of a CSV file, before any of it is queued: with one quote too many
 * nobody can say where the rows behind it begin, so such a file is refused as a whole.
 *
 * At the start of a cell, and then: a quote → quoted; another character → bare. quoted: a quote →
 * closed. closed: a quote → quoted (it was two for one), a delimiter or the end of the line → start;
 * anything else is wrong. bare: a quote is wrong; a delimiter or the end of the line → start.
 */
export class CsvStructure {
  readonly #delimiter: number;
  #state: 'start' | 'bare' | 'quoted' | 'closed' = 'start';
  #line = 1;
  #column = 1;
  #length = 0;
  #openedAt = 1;
  #afterReturn = false;

  constructor(delimiter: string) {
    this.#delimiter = delimiter.charCodeAt(0);
  }

  /** @throws NoticeQueueError SOURCE_INVALID with line and column */
  write(text: string): void {
    for (let at = 0; at < text.length; at++) this.#take(text.charCodeAt(at));
  }

  /** @throws NoticeQueueError SOURCE_INVALID for a quote that was never closed */
  end(): void {
    if (this.#state === 'quoted') throw this.#notClosed();
  }

  #take(code: number): void {
    if (++this.#length > MAX_ROW_LENGTH) {
      throw this.#state === 'quoted'
        ? this.#notClosed()
        : csvError(this.#line, this.#column, `the row is longer than ${MAX_ROW_LENGTH} characters`);
    }
    const secondOfTwo = code === LF && this.#afterReturn;
    this.#afterReturn = code === CR;
    const newLine = code === CR || (code === LF && !secondOfTwo);
    if (newLine) this.#line++;
    if (this.#state === 'quoted') {
      if (code === QUOTE) this.#state = 'closed';
      return;
    }
    if (code === this.#delimiter) {
      this.#state = 'start';
      this.#column++;
    } else if (code === LF || code === CR) {
      this.#state = 'start';
      this.#column = 1;
      this.#length = 0;
    } else if (code === QUOTE) {
      if (this.#state === 'bare') {
        throw csvError(
          this.#line,
          this.#column,
          'there is a quote inside a cell that does not begin with one: put the cell into quotes and double the quote',
        );
      }
      if (this.#state === 'start') this.#openedAt = this.#line;
      this.#state = 'quoted';
    } else if (this.#state === 'closed') {
      throw csvError(
        this.#line,
        this.#column,
        'something follows the closing quote of a cell: double the quotes inside it',
      );
    } else {
      this.#state = 'bare';
    }
  }

  #notClosed(): NoticeQueueError {
    return csvError(this.#openedAt, this.#column, 'a quote is opened there and never closed');
  }
}

/** One place of a CSV list, and what is wrong there. */
export function csvError(line: number, column: number, what: string): NoticeQueueError {
  return new NoticeQueueError('SOURCE_INVALID', `Line ${line}, column ${column}: ${what}.`);
}

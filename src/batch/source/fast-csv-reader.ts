import { MAX_VALUE_LENGTH } from '../../contracts/notice.ts';
import type { Columns } from './column-map.ts';
import { ContactBlock, MAX_EXACT_DIGITS } from './contact-block.ts';
import { endOfLine } from './csv-row.ts';

/** What a byte is to a row: a part of a value, unless it is one of these. */
const DELIMITER = 1;
const END_OF_LINE = 2;
/** Must be escaped in JSON, or may be refused, or is a quote: not for here. */
const ODD = 3;
/** Begins a character of two bytes that may be a control character, U+0080 to U+009F. */
const MAYBE_ODD = 4;

/** A block with less room than this is given up: a longer row than that is not for here, either. */
const ENOUGH_BYTES = 8 * 1024;

const ZERO = 0x30;
const LF = 0x0a;
const CR = 0x0d;
const CLOSE = Buffer.from('"}');

/** A value of the contact: which cell it is, and the JSON before it. */
interface Value {
  readonly cell: number;
  readonly before: Buffer;
}

/** Rows that were read, and where the first begins that was not. */
export interface FastCsvReader {
  /** Their contacts: those of the block from the first number on, up to the second. */
  readonly block: ContactBlock;
  readonly from: number;
  readonly to: number;
  readonly next: number;
  readonly nextLine: number;
}

/**
 * The short way for plain rows, which nearly all rows are: from the bytes of the list to the bytes
 * of the send call's body, with every check that {@link checkCells} makes and no text in between.
 *
 * A plain row has the right number of cells, no quote, nothing that JSON escapes or a list must not
 * hold, and a number whose beginning raises no question. Whatever else there is ends the run; it is
 * for readRow() and checkCells() to judge, so that every refusal has one place. That both ways come
 * to the same is tested against each other.
 */
export class FastCsvOptions {
  readonly #kinds = new Uint8Array(256);
  readonly #width: number;
  readonly #contactCell: number;
  readonly #open = Buffer.from(',{"contact":"');
  readonly #values: readonly Value[];
  /** Of the JSON around the cells. */
  readonly #frameBytes: number;
  readonly #starts: Uint32Array;
  readonly #stops: Uint32Array;
  /** Filled from one call to the next. */
  #block = new ContactBlock();

  /** @param delimiter one byte */
  constructor(columns: Columns, delimiter: number) {
    this.#kinds.fill(ODD, 0, 0x20);
    for (const odd of [0x22, 0x5c, 0x7f]) this.#kinds[odd] = ODD;
    this.#kinds[0xc2] = MAYBE_ODD;
    this.#kinds[LF] = END_OF_LINE;
    this.#kinds[CR] = END_OF_LINE;
    this.#kinds[delimiter] = DELIMITER;
    this.#width = columns.width;
    this.#contactCell = columns.contact.index;
    this.#values = columns.others.map(({ index, json }) => ({
      cell: index,
      before: Buffer.from(`"${json}"`),
    }));
    this.#frameBytes = this.#values.reduce(
      (sum, { before }) => sum + before.length,
      this.#open.length + CLOSE.length,
    );
    this.#starts = new Uint32Array(columns.width + 1);
    this.#stops = new Uint32Array(columns.width + 1);
  }

  /**
   * Reads plain rows until one is not, until the block is full, or until the text may go on.
   *
   * @param from where a row begins
   * @param line the line in which that is
   * @param last whether the text ends here
   */
  read(text: Buffer, from: number, line: number, last: boolean): FastCsvReader {
    if (!this.#block.hasRoom(ENOUGH_BYTES)) this.#block = new ContactBlock();
    const block = this.#block;
    const first = block.count;
    let at = from;
    let nextLine = line;
    while (at < text.length) {
      const end = this.#findCells(text, at);
      if (end < 0 || (end === text.length && !last)) break;
      const next = end === text.length ? end : endOfLine(text, end, last);
      if (next === undefined) break;
      // An empty line is no row.
      if (end > at) {
        // A map may make several fields of one cell.
        if (!block.hasRoom(this.#frameBytes + (1 + this.#values.length) * (end - at))) break;
        if (!this.#write(text, block)) break;
        block.lines[block.count] = nextLine;
        block.count++;
      }
      at = next;
      nextLine++;
    }
    return { block, from: first, to: block.count, next: at, nextLine };
  }

  /** Finds the row's cells. @returns where it ends, or -1 where it is not plain */
  #findCells(text: Buffer, from: number): number {
    const kinds = this.#kinds;
    const width = this.#width;
    let cell = 0;
    this.#starts[0] = from;
    let at = from;
    for (; at < text.length; at++) {
      const byte = text[at] ?? 0;
      const kind = kinds[byte];
      if (kind === 0) continue;
      if (kind === DELIMITER) {
        this.#stops[cell] = at;
        cell++;
        if (cell === width) return -1;
        this.#starts[cell] = at + 1;
      } else if (kind === END_OF_LINE) break;
      else if (kind === ODD || (text[at + 1] ?? 0) < 0xa0) return -1;
    }
    this.#stops[cell] = at;
    return cell === width - 1 || at === from ? at : -1;
  }

  /** Writes the contact of the cells that were found. @returns false where it is not plain */
  #write(text: Buffer, block: ContactBlock): boolean {
    const starts = this.#starts;
    const stops = this.#stops;
    const { json } = block;
    const from = starts[this.#contactCell] ?? 0;
    const stop = stops[this.#contactCell] ?? 0;
    const digits = stop - from;
    if (digits < 1 || digits > MAX_EXACT_DIGITS || !raisesNoQuestion(text, from)) return false;

    let to = copy(this.#open, 0, this.#open.length, json, block.length);
    let number = 0;
    for (let at = from; at < stop; at++) {
      const byte = text[at] ?? 0;
      if (byte < ZERO || byte > ZERO + 9) return false;
      number = number * 10 + (byte - ZERO);
      json[to++] = byte;
    }
    for (const { cell, before } of this.#values) {
      const start = starts[cell] ?? 0;
      const end = stops[cell] ?? 0;
      // In bytes, of which no character has fewer than units.
      if (end - start > MAX_VALUE_LENGTH) return false;
      to = copy(before, 0, before.length, json, to);
      to = copy(text, start, end, json, to);
    }
    to = copy(CLOSE, 0, CLOSE.length, json, to);
    block.ends[block.count] = to;
    block.numbers[block.count] = number;
    block.digits[block.count] = digits;
    return true;
  }
}

/** No country code begins so, and no number that has lost its zero (check-number.ts). */
function raisesNoQuestion(text: Buffer, at: number): boolean {
  const first = text[at] ?? 0;
  if (first === ZERO) return text[at + 1] !== ZERO;
  return first !== ZERO + 1 && first !== ZERO + 8;
}

/** By hand: for a few bytes a call out of JavaScript costs more than they do. */
function copy(source: Buffer, from: number, stop: number, target: Buffer, at: number): number {
  let to = at;
  for (let read = from; read < stop; read++) target[to++] = source[read] ?? 0;
  return to;
}

import type { NoticeQueueError } from '../../contracts/errors.ts';
import { DELIMITERS, delimiterHint, invalidList } from './describe-columns.ts';
import { MAX_ROW_LENGTH } from './source-row.ts';

const QUOTE = 0x22;
const EQUALS = 0x3d;
const LF = 0x0a;
const CR = 0x0d;

export interface CsvRow {
  readonly cells: readonly string[];
  readonly next: number;
  readonly nextLine: number;
}

/**
 * Parses one row: quotes as in RFC 4180; lines end with LF, CRLF or CR.
 *
 * @param from offset of the row, before the end of the text
 * @param line line of the row
 * @param last whether the list ends with this text
 * @returns undefined if the text ends before the row does
 * @throws NoticeQueueError SOURCE_INVALID for a misplaced quote
 */
export function readRow(
  text: Buffer,
  from: number,
  delimiter: Buffer,
  line: number,
  last: boolean,
): CsvRow | undefined {
  const cells: string[] = [];
  let at = from;
  let nextLine = line;
  for (;;) {
    const column = cells.length + 1;
    // `="010..."`: a spreadsheet's text, as it is written into a file that is no spreadsheet.
    if (text[at] === EQUALS && text[at + 1] === QUOTE) at++;
    if (text[at] === QUOTE) {
      const close = closingQuote(text, at, last);
      if (close === undefined) return undefined;
      if (close < 0) throw notClosed(nextLine, column);
      const inside = text.toString('utf8', at + 1, close);
      cells.push(inside.includes('"') ? inside.replaceAll('""', '"') : inside);
      nextLine += inside.match(/\r\n|\r|\n/g)?.length ?? 0;
      at = close + 1;
    } else {
      const end = endOfBareCell(text, at, delimiter);
      if (text[end] === QUOTE) throw csvError(nextLine, column, QUOTE_IN_CELL);
      cells.push(text.toString('utf8', at, end));
      at = end;
    }
    if (at >= text.length) return last ? { cells, next: at, nextLine: nextLine + 1 } : undefined;
    if (startsWith(text, at, delimiter)) {
      at += delimiter.length;
      continue;
    }
    const byte = text[at];
    if (byte !== LF && byte !== CR) throw afterQuote(nextLine, column, byte ?? 0);
    const next = endOfLine(text, at, last);
    return next === undefined ? undefined : { cells, next, nextLine: nextLine + 1 };
  }
}

/** Offset after an LF, CRLF or CR; undefined if an LF may follow a CR at the end of the text. */
export function endOfLine(text: Buffer, at: number, last: boolean): number | undefined {
  if (text[at] === LF) return at + 1;
  if (at + 1 >= text.length && !last) return undefined;
  return text[at + 1] === LF ? at + 2 : at + 1;
}

/** Offset of the closing quote; -1 if the list ends without one; undefined if the text does. */
function closingQuote(text: Buffer, open: number, last: boolean): number | undefined {
  for (let at = open + 1; ; at += 2) {
    at = text.indexOf(QUOTE, at);
    if (at < 0) return last ? -1 : undefined;
    if (at + 1 >= text.length) return last ? at : undefined;
    if (text[at + 1] !== QUOTE) return at;
  }
}

function endOfBareCell(text: Buffer, from: number, delimiter: Buffer): number {
  for (let at = from; at < text.length; at++) {
    const byte = text[at];
    if (byte === LF || byte === CR || byte === QUOTE) return at;
    if (byte === delimiter[0] && startsWith(text, at, delimiter)) return at;
  }
  return text.length;
}

function startsWith(text: Buffer, at: number, delimiter: Buffer): boolean {
  if (delimiter.length === 1) return text[at] === delimiter[0];
  return text.subarray(at, at + delimiter.length).equals(delimiter);
}

const QUOTE_IN_CELL =
  'a quote inside a cell that is not quoted: quote the cell and double the quotes inside it';
const AFTER_QUOTE = 'text after the closing quote of a cell: double the quotes inside the cell';

function afterQuote(line: number, column: number, byte: number): NoticeQueueError {
  const other = DELIMITERS.find((delimiter) => delimiter.charCodeAt(0) === byte);
  const hint = other === undefined ? '' : ` ${delimiterHint(other)}`;
  return invalidList(`Line ${line}, column ${column}: ${AFTER_QUOTE}.${hint}`);
}

function notClosed(openedAt: number, column: number): NoticeQueueError {
  return csvError(openedAt, column, 'a quote is opened here and never closed');
}

export function tooLong(line: number): NoticeQueueError {
  return csvError(line, 1, `the row is longer than ${MAX_ROW_LENGTH} characters`);
}

function csvError(line: number, column: number, problem: string): NoticeQueueError {
  return invalidList(`Line ${line}, column ${column}: ${problem}.`);
}

import { NoticeQueueError } from '../../contracts/errors.ts';
import { DELIMITERS, delimiterHint } from './delimiters.ts';
import { MAX_ROW_LENGTH } from './source-row.ts';

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

/** The error of a row that is too long. */
export function tooLong(line: number): NoticeQueueError {
  return csvError(line, 1, `the row is longer than ${MAX_ROW_LENGTH} characters`);
}

/** An error at a position of a CSV list. */
export function csvError(line: number, column: number, problem: string): NoticeQueueError {
  return new NoticeQueueError('SOURCE_INVALID', `Line ${line}, column ${column}: ${problem}.`);
}

/** Of UTF-8: a spreadsheet takes a file that does not begin with it for one in an older encoding. */
export const BYTE_ORDER_MARK = '\ufeff';

/** Characters with which spreadsheets start a formula, full-width ones included. */
const SIGN = '[=+\\-@＝＋－＠]';
/** Characters that spreadsheets ignore before one: blanks, controls, invisible ones. Not separators. */
const BLANK = '(?:(?![\\t\\r\\n])[\\s\\p{Cc}\\p{Cf}])';
/**
 * Where a spreadsheet can start a formula: at the start of the cell, or after what another spreadsheet takes for
 * the end of one. A tab, a line break or a NUL at the start counts as one.
 */
const START = `(?:^(?='*(?:[\\t\\r\\n\\0]|${BLANK}*${SIGN}))|(?<=[;|\\t\\r\\n])(?='*${BLANK}*${SIGN}))`;

const FORMULAS = new RegExp(START, 'gu');
const ESCAPED = new RegExp(`${START}'`, 'gu');

/**
 * A CSV line that is safe to open in a spreadsheet, including the line end: every cell is quoted, and an
 * apostrophe is written where a spreadsheet could start a formula ({@link unescapeCell} removes it).
 *
 * @param delimiter between the cells. Default: a comma
 */
export function csvLine(cells: readonly string[], delimiter = ','): string {
  return `${cells.map((text) => `"${escapeCell(text).replaceAll('"', '""')}"`).join(delimiter)}\n`;
}

/** Text is written in pieces of about this many characters. */
const PIECE = 32_768;

/** Writes lines in pieces. Memory use does not grow with their number. @param write returns false to stop */
export async function writePieces(
  lines: AsyncIterable<string>,
  write: (text: string) => Promise<boolean>,
): Promise<void> {
  let text = '';
  for await (const line of lines) {
    text += line;
    if (text.length < PIECE) continue;
    if (!(await write(text))) return;
    text = '';
  }
  await write(text);
}

const escapeCell = (text: string): string => text.replace(FORMULAS, "'");

/** The text of a cell that {@link csvLine} wrote. */
export const unescapeCell = (cell: string): string => cell.replace(ESCAPED, '');

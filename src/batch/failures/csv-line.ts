/**
 * What a spreadsheet would take for a formula: text that begins with one of these. Such a cell is
 * written with an apostrophe before it, and an import takes the apostrophe away again.
 */
const FORMULA_START = /^[=+\-@\t\r]/;

/** Text that begins with apostrophes and such a character gets one more, so that it comes back whole. */
const ESCAPED_START = /^'+[=+\-@\t\r]/;

/** Characters that a cell may hold only between quotes. */
const NEEDS_QUOTES = /[",\r\n]/;

/** One cell, safe to open in a spreadsheet. */
export function csvCell(text: string): string {
  const safe = FORMULA_START.test(text) || ESCAPED_START.test(text) ? `'${text}` : text;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** One line with its end. */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\n`;
}

/**
 * Text that a spreadsheet would run as a formula. Such a cell is written with an apostrophe before it;
 * an import of a rejects file removes the apostrophe (column-map.ts).
 */
const FORMULA_START = /^[=+\-@\t\r]/;

/** Text that looks escaped already gets another apostrophe, so that an import restores it. */
const ESCAPED_START = /^'+[=+\-@\t\r]/;

/** A cell with one of these characters must be quoted. */
const NEEDS_QUOTES = /[",\r\n]/;

/** A CSV cell that is safe to open in a spreadsheet. */
export function csvCell(text: string): string {
  const safe = FORMULA_START.test(text) || ESCAPED_START.test(text) ? `'${text}` : text;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A CSV line, including the line end. */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\n`;
}

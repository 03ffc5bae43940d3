/** A Markdown table. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** A whole number with thousands separators. */
export function count(figure: number): string {
  return Math.round(figure).toLocaleString('en');
}

/** Microseconds. */
export function micro(us: number): string {
  if (us < 0.005) return '0';
  return us >= 10 ? us.toFixed(0) : us.toFixed(2);
}

/**
 * Replaces the text between two markers of a page; the rest is written manually.
 *
 * @throws Error for a page without the markers
 */
export function between(page: string, name: string, text: string): string {
  const begin = `<!-- ${name}: written by \`npm run bench\`, do not edit -->`;
  const end = `<!-- ${name}: end -->`;
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error(`the page has no markers for ${name}`);
  return `${page.slice(0, from + begin.length)}\n\n${text.trim()}\n\n${page.slice(to)}`;
}

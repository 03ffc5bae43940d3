/**
 * Replaces the text between two markers of a page; the rest is written manually.
 *
 * @param by the command that writes it
 * @throws Error for a page without the markers
 */
export function between(page: string, name: string, text: string, by = 'npm run bench'): string {
  const begin = `<!-- ${name}: written by \`${by}\`, do not edit -->`;
  const end = `<!-- ${name}: end -->`;
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error(`the page has no markers for ${name}`);
  return `${page.slice(0, from + begin.length)}\n\n${text.trim()}\n\n${page.slice(to)}`;
}

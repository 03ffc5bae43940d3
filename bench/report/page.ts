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

/*
 * What a process of Node.js loads. `TELL_LOADED` is the value of its NODE_OPTIONS; then it writes the address of
 * each module to standard error: an ES module when it is imported, a CommonJS one when the process exits.
 */
const inline = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`;

/** A pipe whose reader is slow is full for a moment. */
const TELL = `import { writeSync } from 'node:fs';
function tell(url) {
  for (;;) {
    try {
      return writeSync(2, url + '\\n');
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error;
    }
  }
}
`;

const HOOK = `${TELL}
export async function load(url, context, next) { tell(url); return next(url, context); }`;

const REGISTER = `${TELL}
import { createRequire, register } from 'node:module';
import { pathToFileURL } from 'node:url';
register(${JSON.stringify(inline(HOOK))});
const { cache } = createRequire(pathToFileURL('/'));
process.on('exit', () => {
  for (const name of Object.keys(cache)) tell(pathToFileURL(name).href);
});`;

/** Makes a process tell what it loads. */
export const TELL_LOADED = { NODE_OPTIONS: `--import=${inline(REGISTER)}` };

/** What it has told on standard error. */
export function loadedFrom(stderr: string) {
  const urls = stderr.split('\n').filter((line) => line.startsWith('file:'));
  const packages = urls.flatMap(
    (url) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? [],
  );
  const ours = urls.flatMap((url) => /\/dist\/((?:src|workers)\/.*)$/.exec(url)?.[1] ?? []);
  const inOrder = (names: readonly string[]) => [...new Set(names)].toSorted();
  return {
    /** Packages by name, in order. */
    packages: inOrder(packages),
    /** Files of this package below `dist/`, without its `package.json`, in order. */
    ours: inOrder(ours.filter((name) => !name.includes('/node_modules/'))),
  };
}

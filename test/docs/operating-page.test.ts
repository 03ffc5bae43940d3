import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { HOLDS } from '../../src/contracts/hold.ts';
import { ERROR_CODES } from '../../src/contracts/errors.ts';
import { EVENTS } from '../../src/events/describe.ts';
import { run } from '../cli/support/run.ts';

const page = readFileSync('docs/operating.md', 'utf8');

/** One entry: its heading, and all below it. */
interface Entry {
  readonly name: string;
  readonly text: string;
}

function entriesOf(chapter: string): Entry[] {
  const body = page.split(/^## /m).find((part) => part.startsWith(`${chapter}\n`)) ?? '';
  return body
    .split(/^### /m)
    .slice(1)
    .map((part) => {
      const [head = '', ...rest] = part.split('\n');
      return { name: head.replaceAll('`', ''), text: rest.join('\n') };
    });
}

const commandsOf = (text: string) =>
  [...text.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block = '']) =>
    block
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.replace(/\s+(?:#|>).*$/, '')),
  );

/** Events after which there is something to do. */
const NEED_ATTENTION = Object.fromEntries(
  Object.entries(EVENTS).filter(([, { remedy }]) => remedy !== ''),
);

describe.each([
  ['Holds', HOLDS],
  ['Events', NEED_ATTENTION],
  ['Error codes', ERROR_CODES],
])('docs/operating.md, %s', (chapter, table) => {
  const entries = entriesOf(chapter);

  it('has an entry for each, in their order, and no other', () => {
    expect(entries.map(({ name }) => name)).toEqual(Object.keys(table));
  });

  it.each(entries)('$name: says what it means and names a command', ({ text }) => {
    const words = text.replace(/```[\s\S]*?```/g, '').trim();
    expect(words.length).toBeGreaterThan(40);
    expect(commandsOf(text).length).toBeGreaterThan(0);
  });
});

/** Commands that stand below another one. */
const BELOW: ReadonlySet<string> = new Set(['hold lift', 'hold place', 'events test']);

it('docs/operating.md names only commands and options that are there', async () => {
  const used = commandsOf(page).map((line) => {
    const [program, first = '', second = '', ...rest] = line.split(/\s+/);
    const below = BELOW.has(`${first} ${second}`);
    const options = [second, ...rest].filter((word) => word.startsWith('--'));
    return { program, name: below ? [first, second] : [first], options };
  });
  expect(used.length).toBeGreaterThan(50);
  expect(new Set(used.map(({ program }) => program))).toEqual(new Set(['notices']));
  const known = await run(['--help']);
  const missing = used.filter(({ name: [first = ''] }) => !known.stdout.includes(`\n  ${first} `));
  expect(missing).toEqual([]);
  // A command starts slowly: only those of which more than the first word is used are asked.
  const asked = used.filter(({ name, options }) => name.length > 1 || options.length > 0);
  for (const words of new Set(asked.map(({ name }) => name.join(' ')))) {
    const { code, stdout } = await run([...words.split(' '), '--help']);
    expect([words, code]).toEqual([words, 0]);
    expect(stdout).toContain(`Usage: notices ${words} `);
    const options = asked
      .filter(({ name }) => name.join(' ') === words)
      .flatMap((one) => one.options);
    expect([words, options.filter((option) => !stdout.includes(option))]).toEqual([words, []]);
  }
}, 120_000);

it('docs/operating.md links only to what is there', () => {
  const anchors = new Set(
    [...page.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => `#${slugOf(title)}`),
  );
  const links = [...page.matchAll(/\]\(([^)]+)\)/g)].map(([, target = '']) => target);
  expect(links.length).toBeGreaterThan(5);
  const dead = links.filter((link) => !anchors.has(link) && !existsSync(`docs/${link}`));
  expect(dead).toEqual([]);
});

/** As the usual hosts make anchors of headings. */
const slugOf = (title: string) =>
  title
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .trim()
    .replaceAll(' ', '-');

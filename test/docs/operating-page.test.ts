import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { HOLDS } from '../../src/contracts/hold.ts';
import { ERROR_CODES } from '../../src/contracts/errors.ts';
import { EVENTS } from '../../src/events/describe.ts';

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
    expect(text).toMatch(/```sh\nnotices /);
  });
});

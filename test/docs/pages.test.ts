import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { HOLDS } from '../../src/contracts/hold.ts';
import { faultSchema } from '../../src/emulator/faults/fault.ts';

const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  ...readdirSync('docs')
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
];

/** A page's text without code blocks. */
const proseOf = (page: string) =>
  readFileSync(page, 'utf8').replaceAll(/^(> )?```[\s\S]*?^(> )?```$/gm, '');

/** As the usual hosts make anchors of headings. */
const anchorOf = (title: string) =>
  title
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .trim()
    .replaceAll(' ', '-');

const anchorsOf = (page: string) =>
  [...readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => anchorOf(title));

it.each(PAGES)('%s links only to files and headings that exist', (page) => {
  const targets = [...proseOf(page).matchAll(/\]\((?!https?:)([^)\s]+)\)/g)];
  const dead = targets.flatMap(([, target = '']) => {
    const [file = '', anchor] = target.split('#');
    const to = file === '' ? page : path.join(path.dirname(page), file);
    if (!existsSync(to)) return [target];
    return anchor === undefined || anchorsOf(to).includes(anchor) ? [] : [target];
  });
  expect(dead).toEqual([]);
});

/** Words of riddles and personification; the plain word is another one. */
const RIDDLES =
  /\b(?:mend(?:s|ed|ing)?|bears?|whoever|somebody|nobody|(?:is|are|was) told|stands?|stood|hears?|by hand|standstill)\b/gi;

it.each(PAGES)('%s is in plain English', (page) => {
  // Titles of tests and other code are quoted as they are.
  const prose = proseOf(page).replaceAll(/`[^`]*`|\]\([^)]*\)(?:: [^|<]*)?/g, '');
  expect(prose.match(RIDDLES) ?? []).toEqual([]);
});

it('docs/promises.md names every hold', () => {
  const page = readFileSync('docs/promises.md', 'utf8');
  for (const kind of Object.keys(HOLDS)) expect(page).toContain(`\`${kind}\``);
});

describe('docs/emulator.md', () => {
  const page = readFileSync('docs/emulator.md', 'utf8');

  it('names every field of a fault', () => {
    const names = Object.keys(faultSchema.shape);
    expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });

  it('names every control request', () => {
    const code = readFileSync('src/emulator/control-api.ts', 'utf8');
    const requests = [...code.matchAll(/^ {4}'([A-Z]+) ([a-z/]+)':/gm)];
    expect(requests.length).toBeGreaterThan(8);
    const missing = requests.filter(([, method = '', name = '']) => {
      const named = new RegExp(`\`${method} [^|]*|\`${name}\``);
      return !named.test(page) || !page.includes(`${name}\``);
    });
    expect(missing).toEqual([]);
  });
});

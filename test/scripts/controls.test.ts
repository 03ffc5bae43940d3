import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { CONTROLS } from '../../scripts/controls/controls.ts';
import { PLANTED } from '../../scripts/planted-mistakes.ts';
import { tierOf } from '../support/tiers.ts';

/** The literal parts of titles with placeholders, such as `refuses $data`: of each, the longest. */
const partsOfTitles = (text: string): string[] =>
  [...text.matchAll(/['`]([^'`\n]*(?:%[sji]|\$[a-z]+)[^'`\n]*)['`]/g)].map(([, title = '']) =>
    title
      .split(/%[sji]|\$[a-z]+/)
      .reduce((longest, part) => (part.length > longest.length ? part : longest))
      .trim(),
  );

it.each(PLANTED)('mistakes can be planted in $file', ({ file, tests, mistakes }) => {
  const text = readFileSync(file, 'utf8');
  const occurs = (part: string) => text.split(part).length - 1;
  expect(mistakes.filter(([from, to]) => occurs(from) !== 1 || to === from)).toEqual([]);
  expect(tests.filter((test) => !existsSync(test))).toEqual([]);
});

describe('the controls of security', () => {
  it('are each named once', () => {
    const names = CONTROLS.map(({ prevents }) => prevents);
    expect(new Set(names).size).toBe(names.length);
  });

  it.each(CONTROLS)('$prevents: can be disabled, and has its test', (control) => {
    const { file, from, to, test, words } = control;
    expect(readFileSync(file, 'utf8').split(from)).toHaveLength(2);
    expect(to).not.toBe(from);
    expect([existsSync(`test/${test}`), tierOf(`test/${test}`)]).toEqual([
      true,
      expect.any(String),
    ]);
    // Without words any failure of the file would count, such as one of a text that cannot be read.
    expect(words).not.toBe('');
    const text = readFileSync(`test/${test}`, 'utf8');
    const titles = [words, ...partsOfTitles(text).filter((part) => part !== '')];
    expect(titles.filter((title) => text.includes(title) && words.includes(title))).not.toEqual([]);
  });
});

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  countOf,
  formatCount,
  formatDuration,
  formatRate,
  formatSize,
} from '../../src/format/format.ts';

describe('how numbers are written', () => {
  it.each([
    [0, '0'],
    [999, '999'],
    [1_234_567, '1,234,567'],
    [2.6, '3'],
  ])('the count %s is %s', (value, text) => {
    expect(formatCount(value)).toBe(text);
  });

  it.each([
    [0, 'batch', 'batches', '0 batches'],
    [1, 'batch', 'batches', '1 batch'],
    [1_000, 'contact', undefined, '1,000 contacts'],
  ])('%s of a %s', (value, noun, plural, text) => {
    expect(countOf(value, noun, plural)).toBe(text);
  });

  it.each([
    [0, '0'],
    [0.001, 'below 0.01'],
    [0.017, '0.02'],
    [0.097, '0.1'],
    [0.44, '0.4'],
    [9.5, '9.5'],
    [9.96, '10'],
    [12.4, '12'],
    [1_200, '1,200'],
  ])('the rate %s is %s', (value, text) => {
    expect(formatRate(value)).toBe(text);
  });

  it.each([
    [0, '0 ms'],
    [340, '340 ms'],
    [999, '999 ms'],
    [1_000, '1 s'],
    [1_600, '2 s'],
    [12_000, '12 s'],
    [90_000, '90 s'],
    [119_000, '119 s'],
    [120_000, '2 min'],
    [240_000, '4 min'],
    [10_800_000, '3 h'],
    [172_800_000, '2 d'],
    [-90_000, '-90 s'],
  ])('the duration %s ms is %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  it.each([
    [0, '0 B'],
    [512, '512 B'],
    [1_536, '1.5 KiB'],
    [25_165_824, '24 MiB'],
    [1_610_612_736, '1.5 GiB'],
  ])('the size %s is %s', (bytes, text) => {
    expect(formatSize(bytes)).toBe(text);
  });
});

it('no message has a number before a plural that one thing would make wrong: countOf writes both', () => {
  const nouns = 'contacts|notices|rows|batches|jobs|chunks|requests|attempts|duplicates|messages';
  // A rate has a decimal where it is small, and a constant is more than one; "2 of 3 contacts" is right for 1.
  const plural = new RegExp(
    `(?<!\\} of )\\$\\{(?!formatRate|countOf|MAX_|MOST_|phase)[^{}]*\\} (?:pending )?(?:${nouns})\\b`,
    'g',
  );
  const found = ['src', 'workers'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => path.join(folder, name))
      .flatMap((file) => {
        const shown = readFileSync(file, 'utf8').match(plural) ?? [];
        return shown.map((text) => `${file}: ${text}`);
      }),
  );
  expect(found).toEqual([]);
});

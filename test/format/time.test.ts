import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDuration, writeDuration, relativeTime, writeTime } from '../../src/format/time.ts';

describe('parseDuration', () => {
  it.each([
    ['250ms', 250],
    ['30s', 30_000],
    ['5m', 300_000],
    ['24h', 86_400_000],
    ['7d', 604_800_000],
    ['24 h', 86_400_000],
    ['0s', 0],
  ])('%s', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each([
    '',
    's',
    '30',
    '-5s',
    '+5s',
    '1.5h',
    '1h30m',
    '30S',
    '30 sec',
    '5min',
    '30  s',
    '9007199254740993ms',
  ])('refuses %j', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });

  it('reads a number alone in the unit that it is asked for', () => {
    expect(parseDuration('30', 's')).toBe(30_000);
    expect(parseDuration('30', 'ms')).toBe(30);
    expect(parseDuration('30m', 'ms')).toBe(1_800_000);
  });
});

describe('writeDuration', () => {
  it.each([
    [0, '0s'],
    [250, '250ms'],
    [1_500, '1500ms'],
    [90_000, '90s'],
    [300_000, '5m'],
    [86_400_000, '1d'],
    [90_000_000, '25h'],
  ])('%d', (ms, text) => {
    expect(writeDuration(ms)).toBe(text);
  });

  it('writes what parseDuration reads', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 31_536_000_000 }), (ms) => {
        expect(parseDuration(writeDuration(ms))).toBe(ms);
      }),
    );
  });
});

const NOW = Date.parse('2026-03-04T09:30:00.000Z');

describe('writeTime', () => {
  it.each([
    [NOW - 5 * 60_000, '5 min ago (09:25:00 UTC)'],
    [NOW, '0 ms ago (09:30:00 UTC)'],
    [NOW + 90_000, 'in 90 s (09:31:30 UTC)'],
    [NOW - 2 * 86_400_000, '2 d ago (2026-03-02 09:30:00 UTC)'],
    [NOW + 15 * 3_600_000, 'in 15 h (2026-03-05 00:30:00 UTC)'],
  ])('%d', (at, text) => {
    expect(writeTime(at, NOW)).toBe(text);
  });

  it('says it as it is asked to', () => {
    expect(writeTime(NOW - 7_000, NOW, (span) => `the oldest for ${span}`)).toBe(
      'the oldest for 7 s (09:29:53 UTC)',
    );
  });
});

describe('relativeTime', () => {
  it('has the exact time', () => {
    expect(relativeTime(NOW - 1_500, NOW)).toEqual({
      words: '2 s ago',
      day: '',
      time: '09:29:58',
      exact: '2026-03-04T09:29:58.500Z',
    });
  });
});

it('no other code says how long ago something was: the time itself would be missing', () => {
  const files = ['src', 'workers'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('/time.ts'))
      .map((name) => path.join(folder, name)),
  );
  expect(files.length).toBeGreaterThan(300);
  const saying = files.filter((file) => /\}(?: ago| old)\b/.test(readFileSync(file, 'utf8')));
  expect(saying).toEqual([]);
});

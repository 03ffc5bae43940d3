import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { relativeTime, writeTime } from '../../src/format/time.ts';

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

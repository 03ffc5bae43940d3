import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { readTime } from '../../../src/format/time.ts';
import { timesOf } from '../../../src/ops/operations/fields.ts';

const NOW = Date.UTC(2026, 0, 31, 12);
const fields = z.object(timesOf('queued'));

beforeEach(() => vi.useFakeTimers({ now: NOW }));
afterEach(() => vi.useRealTimers());

describe('the fields of a time', () => {
  it.each([
    [{}, {}],
    [{ since: '2h' }, { since: NOW - 7_200_000 }],
    [
      { since: '999999d', before: '250 ms' },
      { since: 0, before: NOW - 250 },
    ],
    [
      { since: '2026-01-30', before: '2026-01-31T09:30' },
      { since: Date.UTC(2026, 0, 30), before: Date.UTC(2026, 0, 31, 9, 30) },
    ],
    [
      { since: 1_769_850_000_000, before: '1769850000000' },
      { since: 1_769_850_000_000, before: 1_769_850_000_000 },
    ],
  ])('%j', (given, read) => {
    expect(fields.parse(given)).toEqual(read);
  });

  it.each([
    'yesterday',
    '2 hours',
    '2026-02-30',
    '5',
    '',
    5,
    1_769_850_000,
    -1,
    0.5,
    Infinity,
    null,
  ])('refuses %j', (since) => {
    const { error } = fields.safeParse({ since });
    expect(error?.issues.map(({ message }) => message)).toEqual([
      'expected a time such as 2026-01-31, 2026-01-31T09:30 or 2026-01-31T09:30Z (UTC without a zone), or milliseconds since the epoch; or how long ago, such as 2h',
    ]);
  });
});

describe('times as text', () => {
  it.each([
    ['2026-01-31', Date.UTC(2026, 0, 31)],
    ['2026-01-31T09:30', Date.UTC(2026, 0, 31, 9, 30)],
    ['2026-01-31T09:30:15.5Z', Date.UTC(2026, 0, 31, 9, 30, 15, 500)],
    ['2026-01-31T09:30+09:00', Date.UTC(2026, 0, 31, 0, 30)],
    ['1769850000000', 1_769_850_000_000],
    ['1769850000', undefined],
    ['20260131', undefined],
    ['2026', undefined],
    ['2026-13-01', undefined],
    ['2026-02-29', undefined],
    ['2026-01-31T24:30', undefined],
    ['1960-01-01', undefined],
    ['2026-01-31 09:30', undefined],
    ['', undefined],
  ])('%j is %j', (text, at) => {
    expect(readTime(text)).toBe(at);
  });
});

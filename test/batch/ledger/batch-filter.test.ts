import { describe, expect, it } from 'vitest';
import { readBatchFilter, type BatchFilterText } from '../../../src/batch/ledger/batch-filter.ts';
import { readTime } from '../../../src/format/time.ts';

const NOW = Date.UTC(2026, 0, 31, 12);
const NO_TIME =
  'expected a time such as 2026-01-31, 2026-01-31T09:30 or 2026-01-31T09:30Z (UTC without a zone), or milliseconds since the epoch';
const NO_SPAN = 'expected a duration such as 250ms, 30s, 5m, 24h or 7d';

describe('the filter of batches', () => {
  it.each<[BatchFilterText, object]>([
    [{}, {}],
    [{ phase: 'paused' }, { phase: 'paused' }],
    [{ within: '2h' }, { since: NOW - 7_200_000 }],
    [{ within: '999999d' }, { since: 0 }],
    [
      { since: '2026-01-30', before: '2026-01-31T09:30' },
      { since: Date.UTC(2026, 0, 30), before: Date.UTC(2026, 0, 31, 9, 30) },
    ],
    [{ before: '1769850000000' }, { before: 1_769_850_000_000 }],
  ])('%j', (text, filter) => {
    expect(readBatchFilter(text, NOW)).toEqual(filter);
  });

  it.each<[BatchFilterText, string]>([
    [{ phase: 'done' }, 'phase: expected one of importing, sending, paused, cancelled, finished.'],
    [{ within: '2 hours' }, `within: ${NO_SPAN}.`],
    [{ since: 'yesterday' }, `since: ${NO_TIME}.`],
    [{ before: '2026-02-30' }, `before: ${NO_TIME}.`],
    [{ within: '2h', since: '2026-01-30' }, 'within: expected either within, or since and before.'],
    [{ since: '2026-01-31', before: '2026-01-31' }, 'since: expected a time earlier than before.'],
    [
      { within: 'x', before: 'y' },
      `within: ${NO_SPAN}; before: ${NO_TIME}; within: expected either within, or since and before.`,
    ],
  ])('refuses %j', (text, message) => {
    expect(() => readBatchFilter(text, NOW)).toThrow(message);
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

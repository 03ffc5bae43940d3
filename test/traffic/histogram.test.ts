import { expect, it } from 'vitest';
import { bucketOf, DURATION_BOUNDS_MS, percentiles } from '../../src/traffic/histogram.ts';

const BOUNDS = [10, 100, 1_000];

it.each([
  [0, 0],
  [10, 0],
  [10.5, 1],
  [100, 1],
  [1_000, 2],
  [1_000.1, 3],
  [1e9, 3],
])('%d ms fall into bucket %d', (ms, bucket) => {
  expect(bucketOf(BOUNDS, ms)).toBe(bucket);
});

it.each([
  { what: 'nothing', counts: [0, 0, 0, 0], found: undefined },
  {
    what: 'one bucket, spread evenly in it',
    counts: [0, 100, 0, 0],
    found: { p50: 55, p95: 95.5, p99: 99.1, count: 100 },
  },
  {
    what: 'the first bucket begins at 0',
    counts: [4, 0, 0, 0],
    found: { p50: 5, p95: 9.5, p99: 9.9, count: 4 },
  },
  {
    what: 'empty buckets in between are passed over',
    counts: [50, 0, 50, 0],
    found: { p50: 10, p95: 910, p99: 982, count: 100 },
  },
  {
    what: 'what is longer than the last bound counts as that bound',
    counts: [1, 0, 0, 99],
    found: { p50: 1_000, p95: 1_000, p99: 1_000, count: 100 },
  },
])('percentiles: $what', ({ counts, found }) => {
  const seen = percentiles(BOUNDS, counts);
  expect(seen === undefined).toBe(found === undefined);
  for (const [name, value] of Object.entries(found ?? {})) {
    expect(Object.entries(seen ?? {})).toContainEqual([name, expect.closeTo(value, 6)]);
  }
});

it('all bounds grow', () => {
  for (const bounds of Object.values(DURATION_BOUNDS_MS)) {
    expect(bounds).toEqual([...bounds].sort((a, b) => a - b));
    expect(new Set(bounds).size).toBe(bounds.length);
  }
});

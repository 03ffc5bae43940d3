import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BAR_STATES, segments, stateBar } from '../../../../src/ops/web/pages/batches.ts';
import { batchCounts } from './snapshots.ts';

const some = fc.oneof(fc.constant(0), fc.nat(5), fc.nat(10_000_000));
const anyCounts = fc
  .record({
    pending: some,
    accepted: some,
    rejected: some,
    unknown: some,
    expired: some,
    cancelled: some,
  })
  .map(batchCounts);

describe('the bar of a batch', () => {
  it('is never longer than itself, shows every state that is there, and leaves no gap', () => {
    fc.assert(
      fc.property(anyCounts, (counts) => {
        const cut = segments(counts);
        const widths = cut.map(({ width }) => width);
        expect(widths.reduce((sum, width) => sum + width, 0)).toBeLessThanOrEqual(1_000);
        expect(widths.every((width) => width >= 1 && Number.isInteger(width))).toBe(true);
        expect(cut.map(({ state }) => state)).toEqual(
          BAR_STATES.filter((state) => counts[state] > 0),
        );
        let end = 0;
        for (const { from, width } of cut) {
          expect(from).toBe(end);
          end = from + width;
        }
      }),
    );
  });

  it.each([
    ['nothing', {}, []],
    ['all of one', { accepted: 3 }, [['accepted', 0, 1_000]]],
    [
      'one of a million',
      { accepted: 999_999, rejected: 1 },
      [
        ['accepted', 0, 999],
        ['rejected', 999, 1],
      ],
    ],
    [
      'half of it pending',
      { pending: 2, accepted: 1, unknown: 1 },
      [
        ['accepted', 0, 250],
        ['unknown', 250, 250],
      ],
    ],
  ] as const)('cuts %s', (_what, given, cut) => {
    const found = segments(batchCounts(given)).map(({ state, from, width }) => [
      state,
      from,
      width,
    ]);
    expect(found).toEqual(cut);
  });

  it('has the counts as a text for screen readers', () => {
    const { text } = stateBar(batchCounts({ pending: 1_000, accepted: 2, rejected: 1 }));
    expect(text).toContain('aria-label="2 accepted, 1 rejected, 1,000 pending"');
    expect(stateBar(batchCounts({})).text).toContain('aria-label="nothing settled yet"');
  });
});

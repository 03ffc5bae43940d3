import { describe, expect, it } from 'vitest';
import { quantile, ratioOf, spreadOf } from '../../bench/harness/spread.ts';

describe('figures of several rounds', () => {
  it.each([
    [[3], { median: 3, min: 3, max: 3 }],
    [[10, 2, 9], { median: 9, min: 2, max: 10 }],
    [[4, 1, 3, 2], { median: 2.5, min: 1, max: 4 }],
  ])('%j', (figures, expected) => {
    expect(spreadOf(figures)).toStrictEqual(expected);
  });

  it('none are an error', () => {
    expect(() => spreadOf([])).toThrow(RangeError);
  });

  it('are compared round by round', () => {
    expect(ratioOf([30, 10, 20], [10, 10, 10])).toStrictEqual({ median: 2, min: 1, max: 3 });
  });

  it.each([
    [0.5, 50],
    [0.99, 99],
    [1, 100],
    [0, 1],
  ])('the %d quantile of 1 to 100 is %d', (share, expected) => {
    const figures = Array.from({ length: 100 }, (_, index) => 100 - index);
    expect(quantile(figures, share)).toBe(expected);
  });
});

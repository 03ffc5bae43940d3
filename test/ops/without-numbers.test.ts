import { describe, expect, it } from 'vitest';
import { withoutNumbers } from '../../src/ops/audit.ts';

describe('a reason of the audit log', () => {
  it.each([
    ['asked by 01012345678', 'asked by [number]'],
    ['asked by 010-1234-5678.', 'asked by [number].'],
    ['asked by +82 (10) 1234 5678', 'asked by +[number]'],
    ['asked by 010–1234–5678', 'asked by [number]'],
    ['asked by 010_1234_5678', 'asked by [number]'],
    ['asked by 010/1234/5678', 'asked by [number]'],
    ['asked by 010 · 1234 · 5678', 'asked by [number]'],
    ['asked by ０１０－１２３４－５６７８', 'asked by [number]'],
    ['asked by ٠١٠١٢٣٤٥٦٧٨', 'asked by [number]'],
  ])('shows nothing of a number: %s', (why, shown) => {
    expect(withoutNumbers(why)).toBe(shown);
  });

  it.each(['order A-1001, 3 of 12', 'ticket 123456', 'batch spring 2026'])(
    'stays as it was typed: %s',
    (why) => {
      expect(withoutNumbers(why)).toBe(why);
    },
  );
});

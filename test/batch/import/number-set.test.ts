import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NumberSet } from '../../../src/batch/import/number-set.ts';

describe('NumberSet', () => {
  it('answers as a set of texts does', () => {
    const digits = fc.oneof(
      fc.stringMatching(/^[0-9]{1,20}$/),
      // Close together, so that pages fill up.
      fc.integer({ min: 0, max: 300_000 }).map((n) => `010${String(n).padStart(8, '0')}`),
      fc.integer({ min: 0, max: 99 }).map(String),
    );
    fc.assert(
      fc.property(fc.array(digits, { maxLength: 2_000, size: 'max' }), (numbers) => {
        const [set, model] = [new NumberSet(), new Set<string>()];
        for (const number of numbers) {
          const isNew = !model.has(number);
          model.add(number);
          expect(set.add(number)).toBe(isNew);
        }
      }),
      { numRuns: 30 },
    );
  });

  it('keeps numbers apart that differ in leading zeros or beyond what a double holds', () => {
    const set = new NumberSet();
    const numbers = ['1', '01', '001', '9007199254740992', '9007199254740993', '65536', '065536'];
    expect(numbers.map((number) => set.add(number))).toStrictEqual(numbers.map(() => true));
    expect(numbers.map((number) => set.add(number))).toStrictEqual(numbers.map(() => false));
  });

  it('turns a page into a bitmap without losing a member, in whatever order they come', () => {
    const set = new NumberSet();
    const members = Array.from({ length: 65_536 }, (_, index) => (index * 40_503) % 65_536);
    const added = members.filter((low) => set.add(`010000${String(low).padStart(5, '0')}`));
    expect(added).toHaveLength(65_536);
    expect(members.some((low) => set.add(`010000${String(low).padStart(5, '0')}`))).toBe(false);
  });

  it('holds a million mobile numbers in a few megabytes', () => {
    const set = new NumberSet();
    const before = process.memoryUsage();
    for (let index = 0; index < 1_000_000; index++) {
      set.add(`010${String((index * 7_919) % 100_000_000).padStart(8, '0')}`);
    }
    const after = process.memoryUsage();
    // What a set of texts would take in buffers and heap is beyond 50 MB.
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(16 * 1024 * 1024);
    expect(set.add('01000007919')).toBe(false);
  });
});

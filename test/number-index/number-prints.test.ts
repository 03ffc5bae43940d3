import { describe, expect, it } from 'vitest';
import {
  encodePrints,
  findStored,
  NumberPrints,
  printKey,
} from '../../src/number-index/number-prints.ts';

const KEY = printKey('secret');

function printsOf(numbers: readonly string[], key = KEY): Float64Array {
  const prints = new NumberPrints(key);
  for (const [index, number] of numbers.entries()) {
    // Both ways of adding a number give the same print.
    if (index % 2 === 0 || number.length > 15) prints.addText(number);
    else prints.add(Number(number), number.length);
  }
  return prints.sorted();
}

const stored = (prints: Float64Array): Uint32Array => {
  const bytes = Buffer.concat([...encodePrints(prints, 64)]);
  return new Uint32Array(new Uint8Array(bytes).buffer);
};

async function found(sorted: Float64Array, list: Uint32Array): Promise<number> {
  let count = 0;
  // eslint-disable-next-line @typescript-eslint/require-await
  const pieces = async function* () {
    for (let at = 0; at < list.length; at += 16) yield list.subarray(at, at + 16);
  };
  await findStored(sorted, pieces(), () => count++);
  return count;
}

const range = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => `010${String(from + index).padStart(8, '0')}`);

describe('the prints of a list', () => {
  it.each([
    [1, 1],
    [3, 2],
    [1_000, 400],
    [50_000, 20_000],
  ])('of %i numbers find exactly the %i that another list has', async (count, shared) => {
    const list = stored(printsOf(range(0, count)));
    expect(await found(printsOf(range(count - shared, count)), list)).toBe(shared);
    expect(await found(printsOf(range(count, count)), list)).toBe(0);
    expect(await found(printsOf(range(0, count), printKey('other')), list)).toBe(0);
    expect(list.byteLength / count).toBeLessThan(4.01 + 8 / count);
  });

  it('tell numbers apart by their leading zeros, and long ones', () => {
    const numbers = ['12345678', '012345678', '0012345678', '1234567890123456', '1234567890123457'];
    const list = printsOf([...numbers, ...numbers]);
    expect(list).toHaveLength(numbers.length);
    const prints = new NumberPrints(KEY);
    for (const number of numbers) expect(list).toContain(prints.of(number));
    expect(prints.of('01012345678')).toBe(prints.of({ value: 1_012_345_678, digits: 11 }));
  });

  it('that were cut off find no others', async () => {
    const list = stored(printsOf(range(0, 1_000)));
    expect(await found(printsOf(range(0, 1_000)), list.subarray(0, 501))).toBe(500);
    expect(await found(printsOf(range(0, 1_000)), list.subarray(0, 0))).toBe(0);
  });
});

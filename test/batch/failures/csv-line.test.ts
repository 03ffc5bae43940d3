import { assert, constantFrom, property, string } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { csvLine, unescapeCell } from '../../../src/batch/failures/csv-line.ts';

describe('csvLine', () => {
  it.each([
    ['plain', 'plain'],
    ['', ''],
    ['a,b', 'a,b'],
    ['say "x"', 'say ""x""'],
    ['two\nlines', 'two\nlines'],
    ['=1+1', "'=1+1"],
    ['+82', "'+82"],
    ['-1', "'-1"],
    ['@a', "'@a"],
    ['\ta', "'\ta"],
    ['\ra', "'\ra"],
    ['\0a', "'\0a"],
    ['＝1+1', "'＝1+1"],
    ['＋82', "'＋82"],
    ['－1', "'－1"],
    ['＠a', "'＠a"],
    ['  =1+1', "'  =1+1"],
    ['\u00a0=1+1', "'\u00a0=1+1"],
    ['\u200b=1+1', "'\u200b=1+1"],
    ['\ufeff=1+1', "'\ufeff=1+1"],
    ['a;=1+1', "a;'=1+1"],
    ['a\t =1+1', "a\t' =1+1"],
    ['a|@x', "a|'@x"],
    ['a\n=1+1', "a\n'=1+1"],
    ["'=1", "''=1"],
    ["'tis", "'tis"],
    ['a=b', 'a=b'],
    ['a; b', 'a; b'],
  ])('quotes %j as %j', (text, cell) => {
    expect(csvLine([text, 'x'])).toBe(`"${cell}","x"\n`);
  });
});

it('an import gets back what was written', () => {
  const sign = constantFrom(...Array.from("'=＝-@ \t\n\r;|,\0a"));
  assert(
    property(string({ unit: sign, maxLength: 12 }), (text) => {
      const line = csvLine([text]);
      expect(unescapeCell(line.slice(1, -2).replaceAll('""', '"'))).toBe(text);
    }),
    { numRuns: 2_000 },
  );
});

import type { Case } from './case.ts';

const BAD = 'batch/import/import-bad-input.integration.test.ts';
const ROW = 'batch/source/check-row.test.ts';
const OWN = 'corpus/lists.test.ts';

/** NDJSON and JSON. */
export const JSON_CASES: readonly Case[] = [
  ['50 a line that is cut off', BAD, `'{"contact":"01000000102"',`],
  ['51 a list on a line', BAD, "'[1]'"],
  ['52 null, a number, a text', BAD, "'null'"],
  ['53 a number that is not text', BAD, `'{"contact":1012345678}'`],
  ['54 the same field twice: the last one counts', OWN, "'54 the same field twice'"],
  ['55 __proto__', BAD, '"__proto__":{"x":1}'],
  [
    '56 20,000 levels',
    'batch/import/rejects-file.integration.test.ts',
    'a line nested 20,000 levels',
  ],
  ['57 an endless line', BAD, "'x'.repeat(3_000_000)"],
  ['58 an unknown field is left out, and named', ROW, 'remembers the rest'],
  ['59 a byte order mark inside', OWN, "'59 a byte order mark inside'"],
  ['60 two objects on a line', BAD, '{"contact":"01000000105"}{"contact":"01000000106"}'],
];

import { expect, it } from 'vitest';
import { lookUpNumber } from '../../src/batch/source/check-number.ts';
import { canonicalForm } from '../../src/format/country.ts';

it.each([
  ['01012345678', '01012345678'],
  ['010-1234-5678', '01012345678'],
  ['+82 10-1234-5678', '01012345678'],
  ['821012345678', '01012345678'],
  ['00821012345678', '01012345678'],
  ['82 (0)10 1234 5678', '01012345678'],
  ['０１０１２３４５６７８', '01012345678'],
  ['+81 90 1234 5678', '09012345678'],
  // Not a national number of the country behind its code: another number.
  ['821', '821'],
  ['8200000000000', '8200000000000'],
  ['15881588', '15881588'],
  ['4915112345678', '4915112345678'],
])('%s is on the list as %s', (written, form) => {
  const checked = lookUpNumber(written);
  expect(checked.kind === 'number' ? canonicalForm(checked.number) : undefined).toBe(form);
});

import { describe, expect, it } from 'vitest';
import { checkNumber } from '../../../src/batch/source/check-number.ts';

describe('a phone number', () => {
  it.each([
    ['01012345678', '01012345678', false],
    ['021234567', '021234567', false],
    ['15881588', '15881588', false],
    ['0', '0', false],
    ['010-1234-5678', '01012345678', true],
    [' 010 1234 5678 ', '01012345678', true],
    ['(02) 123-4567', '021234567', true],
    ['010.1234.5678', '01012345678', true],
    ['010\u00a01234\u200b5678', '01012345678', true],
    ['010\u20131234\u22125678', '01012345678', true],
    ['０１０－１２３４－５６７８', '01012345678', true],
    ['\ufeff01012345678', '01012345678', true],
    ['(01012345678)', '01012345678', true],
    ['031(123)4567', '0311234567', true],
    ['02)312-4567', '023124567', true],
  ])('%j is taken as %s', (text, number, normalised) => {
    expect(checkNumber(text)).toStrictEqual({ kind: 'number', number, normalised });
  });

  it.each([
    ['', /got an empty value/],
    ['  ', /got an empty value/],
    ['+821012345678', /plus sign/],
    ['＋82 10 1234 5678', /plus sign/],
    ['821012345678', /country code/],
    ['82-10-1234-5678', /country code/],
    ['82 010 1234 5678', /country code/],
    ['00821012345678', /country code/],
    ['1012345678', /leading zero/],
    ['10-1234-5678', /leading zero/],
    ['111234567', /leading zero/],
    ['10123456', /leading zero/],
    ['1.01235E+09', /spreadsheet/],
    ['1,01235e9', /spreadsheet/],
    ['1E10', /spreadsheet/],
    ['1012345678.0', /spreadsheet/],
    ['01012345678.', /spreadsheet/],
    ['010-1234-567a', /digits/],
    ['٠١٠١٢٣٤٥٦٧٨', /digits/],
    ['010\t12345678', /digits/],
    ['01012345678\u0000', /digits/],
    ['010/1234', /digits/],
    ['--', /digits/],
    // Without the separator, these would be 02-3124-5678.
    ['02-312-4567(8)', /one phone number/],
    ['02-312-4567-8', /one phone number/],
    ['02-312-4567 ８', /one phone number/],
    ['123456789012345678901', /at most 20 digits, got 21/],
  ])('%j is refused', (text, reason) => {
    expect(checkNumber(text)).toStrictEqual({
      kind: 'refused',
      reason: expect.stringMatching(reason) as unknown,
    });
  });
});

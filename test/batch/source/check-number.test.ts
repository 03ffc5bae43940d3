import { describe, expect, it } from 'vitest';
import { checkNumber } from '../../../src/batch/source/check-number.ts';
import { COUNTRIES } from '../../../src/format/country.ts';

const KR = { country: COUNTRIES.KR };

describe('a phone number', () => {
  it.each<readonly [string, string, readonly string[]]>([
    ['01012345678', '01012345678', []],
    ['021234567', '021234567', []],
    ['15881588', '15881588', []],
    ['20123456789', '20123456789', []],
    ['010-1234-5678', '01012345678', ['separators']],
    [' 010 1234 5678 ', '01012345678', ['separators']],
    ['(02) 123-4567', '021234567', ['separators']],
    ['010.1234.5678', '01012345678', ['separators']],
    ['010-12345678', '01012345678', ['separators']],
    ['010\u20131234\u22125678', '01012345678', ['separators']],
    ['010\t12345678', '01012345678', ['invisible characters', 'separators']],
    ['\t01012345678\n', '01012345678', ['invisible characters', 'separators']],
    ['010\u00a01234\u200b5678', '01012345678', ['invisible characters', 'separators']],
    ['０１０－１２３４－５６７８', '01012345678', ['full-width characters', 'separators']],
    ['(01012345678)', '01012345678', ['separators']],
    ['031(123)4567', '0311234567', ['separators']],
    ['02)312-4567', '023124567', ['separators']],
    ['0505-1234-5678', '050512345678', ['separators']],
    ['06 12 34 56 78', '0612345678', ['separators']],
    ['="01012345678"', '01012345678', ['text form of a spreadsheet']],
    ["'01012345678", '01012345678', ['text form of a spreadsheet']],
    ["'010-1234-5678'", '01012345678', ['text form of a spreadsheet', 'separators']],
  ])('%j is taken as %s', (text, number, repaired) => {
    const taken = { kind: 'number', number, repaired };
    expect(checkNumber(text)).toStrictEqual(taken);
  });

  const characters = [
    0x200b, 0x200c, 0x200d, 0x200e, 0x200f, 0x202a, 0x202b, 0x202c, 0x202d, 0x202e,
  ];
  const others = [0x2061, 0x2066, 0x2067, 0x2068, 0x2069, 0xad, 0xfeff, 0x180e, 0xfe0f];
  it.each([...characters, ...others])('code point %i around and inside is dropped', (code) => {
    const unseen = String.fromCodePoint(code);
    for (const text of [`${unseen}01012345678${unseen}`, `010${unseen}1234${unseen}5678`]) {
      expect(checkNumber(text)).toMatchObject({ number: '01012345678' });
    }
  });

  it.each<readonly [string, string, readonly string[]]>([
    ['01012345678', '01012345678', []],
    ['1588-1588', '15881588', ['separators']],
    ['1012345678', '01012345678', ['leading zero']],
    ['10-1234-5678', '01012345678', ['separators', 'leading zero']],
    ['+821012345678', '01012345678', ['country code']],
    ['+82-10-1234-5678', '01012345678', ['country code']],
    ['(+82) 10-1234-5678', '01012345678', ['country code']],
    ['+82 (0)10-1234-5678', '01012345678', ['country code']],
    ['+82 2-312-4567', '023124567', ['country code']],
    ['00821012345678', '01012345678', ['country code']],
    ['0082-10-1234-5678', '01012345678', ['country code']],
    ['82-10-1234-5678', '01012345678', ['country code']],
    ['＋82 10 1234 5678', '01012345678', ['full-width characters', 'country code']],
  ])('of Korea: %j is taken as %s', (text, number, repaired) => {
    expect(checkNumber(text, KR)).toStrictEqual({ kind: 'number', number, repaired });
  });

  it('of another country has other rules', () => {
    const us = { country: COUNTRIES.US };
    expect(checkNumber('+1 (212) 555-0123', us)).toMatchObject({ number: '2125550123' });
    expect(checkNumber('1-212-555-0123', us)).toMatchObject({ number: '2125550123' });
    expect(checkNumber('01012345678', us)).toMatchObject({ kind: 'refused' });
    const jp = { country: COUNTRIES.JP };
    expect(checkNumber('9012345678', jp)).toMatchObject({ number: '09012345678' });
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
    ['01012345678\u0000', /U\+0000/],
    ['01012345678\u001f', /U\+001F/],
    ['010-1234-5678\n010-1234-5679', /U\+000A/],
    ['010/1234', /digits/],
    ['--', /digits/],
    // Without the separator, these would be 02-3124-5678.
    ['02-312-4567(8)', /one phone number/],
    ['02-312-4567-8', /one phone number/],
    ['02-312-4567 ８', /one phone number/],
    ['031-123-4567 (203)', /one phone number/],
    ['02-312-4567 02-312-4568', /one phone number/],
    ['02-312-4567-203', /one phone number/],
    ['02-312-4567.203', /one phone number/],
    ['010-0000-0001 (12)', /one phone number/],
    ['011-123-4567 011-234-5678', /one phone number/],
    ['010-0000-0002  02-312-4567', /one phone number/],
    ['010-1234-5678\t010-1234-5679', /one phone number/],
    ['123456789012345678901', /at most 20 digits, got 21/],
  ])('%j is refused', (text, reason) => {
    expect(checkNumber(text)).toStrictEqual({
      kind: 'refused',
      reason: expect.stringMatching(reason) as unknown,
      implausible: false,
    });
  });

  it.each(['KR', 'JP', 'US'] as const)('of %s: one of another country has no advice', (name) => {
    const reason = `expected a phone number of ${name}, got one with a plus sign that is none`;
    for (const text of ['+442071838750', '+82 (0)10-1234-56']) {
      expect(checkNumber(text, { country: COUNTRIES[name] })).toMatchObject({ reason });
    }
  });

  it.each(['7012345678', '5071234567', '313334444', '25551234', '2-555-1234'])(
    'of Korea: %s lost its zero, and is not implausible',
    (text) => {
      const reason: unknown = expect.stringMatching(/removed the leading zero.*list again$/);
      const refused = { kind: 'refused', reason, implausible: false };
      expect(checkNumber(text, KR)).toStrictEqual(refused);
    },
  );

  it.each([
    ['0', {}, /8 to 15 digits, got 1/],
    ['1234567', {}, /8 to 15 digits, got 7/],
    ['1234567890123456', {}, /8 to 15 digits, got 16/],
    ['0100000', KR, /phone number of KR, got 7 digits/],
    ['20261128001', KR, /phone number of KR, got 11 digits/],
  ])('%s is implausible', (text, rules, reason) => {
    expect(checkNumber(text, rules)).toMatchObject({
      reason: expect.stringMatching(reason) as unknown,
      implausible: true,
    });
    expect(checkNumber(text, { ...rules, allowImplausible: true })).toMatchObject({ number: text });
  });

  it('of Korea has an end, also where it is shorter than others', () => {
    expect(checkNumber('1588-1588-203', KR)).toMatchObject({ kind: 'refused' });
    expect(checkNumber('+1 212 555 0123', KR)).toMatchObject({ kind: 'refused' });
  });
});

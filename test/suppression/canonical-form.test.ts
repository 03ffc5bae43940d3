import { expect, it } from 'vitest';
import { checkListed, checkNumber, lookUpNumber } from '../../src/batch/source/check-number.ts';
import { canonicalForm, COUNTRIES, formsOf, type CountryName } from '../../src/format/country.ts';

it.each([
  ['01012345678', '01012345678'],
  ['010-1234-5678', '01012345678'],
  ['+82 10-1234-5678', '01012345678'],
  ['821012345678', '01012345678'],
  ['00821012345678', '01012345678'],
  ['82 (0)10 1234 5678', '01012345678'],
  ['０１０１２３４５６７８', '01012345678'],
  ['+81 90 1234 5678', '09012345678'],
  // Those of the US and Korea, and a number without its leading zero.
  ['+1 (212) 555-1234', '2125551234'],
  ['12125551234', '2125551234'],
  ['1099990001', '01099990001'],
  ['+1 822 555 1234', '025551234'],
  ['8225551234', '025551234'],
  // Not a national number of the country behind its code: another number.
  ['821', '821'],
  ['8200000000000', '8200000000000'],
  ['15881588', '15881588'],
  ['4915112345678', '4915112345678'],
])('%s is on the list as %s', (written, form) => {
  const checked = lookUpNumber(written);
  expect(checked.kind === 'number' ? canonicalForm(checked.number) : undefined).toBe(form);
});

it.each<readonly [CountryName, string, readonly string[]]>([
  ['KR', '01099990001', ['010-9999-0001', '1099990001', '10-9999-0001', '+82-010-9999-0001']],
  ['KR', '01099990001', ['821099990001', '0082 10 9999 0001', "'010.9999.0001"]],
  ['KR', '15881588', ['1588-1588']],
  ['US', '2125551234', ['+1 (212) 555-1234', '1-212-555-1234', '(212) 555-1234', '12125551234']],
  ['JP', '09012345678', ['9012345678', '+81 90-1234-5678', '81 90 1234 5678']],
])(
  'an import for %s stores %s in a form under which each notation is on the list',
  (name, number, all) => {
    for (const written of [number, ...all]) {
      const stored = checkNumber(written, { country: COUNTRIES[name] });
      expect(stored).toMatchObject({ number });
      expect([written, checkListed(written)]).toMatchObject([
        written,
        { number: canonicalForm(number) },
      ]);
    }
  },
);

it.each([
  ['+49 151 1234 5678', '4915112345678'],
  ['+86 138 1234 5678', '8613812345678'],
  ['\u200b010-1234-5678', '01012345678'],
])('%s, which a list of one country refuses, is taken for the list', (written, number) => {
  expect(checkListed(written)).toMatchObject({ number });
});

it.each([
  ['12'],
  ['1234567'],
  ['1234567890123456'],
  ['010-2000-0014 (12)'],
  ['+82 10-2000-0014 (12)'],
  ['+49 151 12345678 (12)'],
  ['010-2000-0014 010-2000-0015'],
  ['010-2000-0014, 010-2000-0015'],
  ['010\u00001234\u00005678'],
  ['1.02E+09'],
])('%j, which no notice is sent to, is refused', (written) => {
  expect(checkListed(written)).toMatchObject({ kind: 'refused' });
});

it.each([
  ['01055550079', ['01055550079', '821055550079', '8201055550079']],
  ['821055550079', ['821055550079', '01055550079', '8201055550079']],
  ['8201055550079', ['8201055550079', '01055550079', '821055550079']],
  ['00821055550079', ['00821055550079', '01055550079', '821055550079', '8201055550079']],
  ['09012345678', ['09012345678', '819012345678', '8109012345678']],
  // Of Korea or of Japan: the other country's would be another person.
  ['0212345678', ['0212345678']],
  ['0311234567', ['0311234567']],
  ['82212345678', ['82212345678', '0212345678', '820212345678']],
  // Of the US, or of Seoul with its code.
  ['8222234567', ['8222234567']],
  ['2125551234', ['2125551234', '12125551234']],
  ['12125551234', ['12125551234', '2125551234']],
  ['15881588', ['15881588', '8215881588']],
  ['4915112345678', ['4915112345678']],
])('%s is looked for as %j, and erased as these', (number, forms) => {
  expect(formsOf(number)).toEqual(forms);
});

export interface Country {
  readonly name: string;
  /** Its code in the international format. */
  readonly code: string;
  /** What national numbers begin with, and international ones leave out. */
  readonly trunk: string;
  /** National numbers that there may be. */
  readonly national: RegExp;
  /** Those of mobile phones. */
  readonly mobile: RegExp;
  /** Numbers of so many digits that begin like this are all national ones. */
  readonly certain?: { readonly start: string; readonly digits: number };
}

/** Codes of the countries whose phone numbers are known, as in ISO 3166. */
export const COUNTRY_NAMES = ['KR', 'JP', 'US'] as const;

export type CountryName = (typeof COUNTRY_NAMES)[number];

export const COUNTRIES: Readonly<Record<CountryName, Country>> = {
  KR: {
    name: 'KR',
    code: '82',
    trunk: '0',
    national:
      /^(?:010[0-9]{8}|01[16-9][0-9]{7,8}|02[0-9]{7,8}|0(?:[3-6][1-5]|70|80)[0-9]{7,8}|050[0-9]{8,9}|1[5-8][0-9]{6})$/,
    mobile: /^(?:010[0-9]{8}|01[16-9][0-9]{7,8})$/,
    certain: { start: '010', digits: 11 },
  },
  JP: {
    name: 'JP',
    code: '81',
    trunk: '0',
    national: /^0(?:[5789]0[0-9]{8}|[1-9][0-9]{8})$/,
    mobile: /^0[789]0[0-9]{8}$/,
    certain: { start: '090', digits: 11 },
  },
  US: {
    name: 'US',
    code: '1',
    trunk: '',
    national: /^[2-9][0-9]{2}[2-9][0-9]{6}$/,
    mobile: /^[2-9][0-9]{2}[2-9][0-9]{6}$/,
  },
};

/**
 * The national form of a number that has the country's code, with or without a plus sign or two zeros before it;
 * undefined where it has none.
 */
export function nationalForm(text: string, country: Country): string | undefined {
  const digits = text.replaceAll(/[^0-9]/g, '');
  const prefix = /^[\s(]*\+/.test(text) ? '' : digits.startsWith('00') ? '00' : undefined;
  if (!digits.startsWith(`${prefix ?? ''}${country.code}`)) return undefined;
  const rest = digits.slice((prefix ?? '').length + country.code.length);
  const { trunk, national } = country;
  const form = trunk + (trunk !== '' && rest.startsWith(trunk) ? rest.slice(trunk.length) : rest);
  // Without a sign that it is one, the code may be a part of the number.
  const isCertain = prefix !== undefined || !national.test(digits);
  return isCertain && national.test(form) ? form : undefined;
}

/**
 * The forms under which a number may be stored: its digits as they are given and, where it is a number of one country
 * alone, the national form and those with the country's code. Of two countries it may be two people's.
 */
export function formsOf(number: string): readonly string[] {
  const known = Object.values(COUNTRIES).flatMap((country) => {
    const { national, trunk, code } = country;
    const form = national.test(number) ? number : nationalForm(number, country);
    if (form === undefined) return [];
    const bare = form.startsWith(trunk) ? form.slice(trunk.length) : form;
    return [[form, code + bare, code + form]];
  });
  return [...new Set([number, ...(known.length === 1 ? known.flat() : [])])];
}

/** A national number with its leading zero: most of them. */
const WITH_ZERO = /^0[1-9]/;
/** In this order: a number without the code of the US may still begin like one with that of Korea. */
const CODES = [COUNTRIES.US, COUNTRIES.KR, COUNTRIES.JP];

/**
 * The one form under which a number is on the do-not-send list. All forms that a list of contacts makes of it have the
 * same: without the code of a known country, and with the leading zero of a mobile number.
 */
export function canonicalForm(number: string): string {
  if (WITH_ZERO.test(number)) return number;
  const national = CODES.reduce((form, country) => nationalForm(form, country) ?? form, number);
  const lost = CODES.find(
    ({ national: whole, mobile, trunk }) =>
      trunk !== '' && !whole.test(national) && mobile.test(trunk + national),
  );
  return (lost?.trunk ?? '') + national;
}

import { PHONE_NUMBER } from '../../contracts/notice.ts';
import { canonicalForm, COUNTRIES, nationalForm, type Country } from '../../format/country.ts';

export interface NumberRules {
  /** Of which country they are; undefined for any. */
  readonly country?: Country | undefined;
  /** Also take numbers that no phone has. */
  readonly allowImplausible?: boolean | undefined;
  /**
   * Of the do-not-send list: also take numbers with a code of a country, or without their leading zero, for which
   * {@link canonicalForm} then has one form.
   */
  readonly anyForm?: boolean | undefined;
}

/** What was done to a number that is taken. */
export type Repair =
  | 'text form of a spreadsheet'
  | 'invisible characters'
  | 'full-width characters'
  | 'country code'
  | 'separators'
  | 'leading zero';

/** Result of reading a phone number: the number, or the reason why it is refused. */
export type NumberCheck =
  | {
      readonly kind: 'number';
      readonly number: string;
      /** What was done to it, in order. */
      readonly repaired: readonly Repair[];
    }
  | {
      readonly kind: 'refused';
      readonly reason: string;
      /** It has the form of a number, and no phone has it. */
      readonly implausible: boolean;
    };

/** Spaces of every width, hyphens, dots and parentheses, half and full width. */
const SEPARATORS = /[\s\u2000-\u200a\u202f\u3000\-\u2010-\u2015\u2212\uff0d.\uff0e()\uff08\uff09]/g;
/** Format characters (zero width, direction of writing, soft hyphen, byte order mark) and variation selectors. */
const INVISIBLE = /\p{Cf}|\p{Variation_Selector}|\u{34f}/gu;
/** Controls, marks and whatever else is not seen and may be a part of something. */
const UNSEEN = /[\p{C}\p{M}\u2028\u2029]/u;
const FULL_WIDTH = /[\uff0b\uff10-\uff19]/g;
/** `="010..."`, `'010...` and `'010...'`. */
const TEXT_FORM = /^\s*(?:="([^"]*)"|'([^']*)'?)\s*$/;
/** Scientific notation of a spreadsheet: digits of a long number are lost. */
const SCIENTIFIC = /^\s*[0-9]+(?:[.,][0-9]+)?[eE]\+?[0-9]+\s*$/;
/** A number with decimals, also from a spreadsheet: without the dot it would be another number. */
const DECIMAL = /^\s*[0-9]+\.[0-9]{0,2}\s*$/;
/** A number in parentheses after another one: an extension. */
const IN_PARENTHESES = /[0-9].*[(\uff08]\s*[0-9]+\s*[)\uff09]\s*$/;
/** Without a country: what is most likely a mobile number with the code of Korea, or without its leading zero. */
const WITH_CODE = /^(?:00)?820?1[016789][0-9]{7,8}$/;
const ZERO_LOST = /^1(?:[016789][0-9]{7,8}|[01][0-9]{6})$/;
/** The most digits of a number, and of the title of a column without a letter. */
const MAX_DIGITS = 20;
const MAX_TITLE_DIGITS = 5;
/** Digits of numbers that there are: the longest one is that of an international number (E.164). */
const PLAUSIBLE = /^[0-9]{8,15}$/;
/** Digits of the shortest number after which a single digit means something else: `02-312-4567(8)` is two numbers. */
const SHORTEST_BEFORE_DIGIT = 8;
/** A national number with its usual separators, or without any: most numbers, taken at once. */
const USUAL = /^0[1-9][0-9]{0,2}([- .]?)[0-9]{3,4}\1[0-9]{4}$/;

interface Kind {
  /** What was done, or why the number is refused and what to do. */
  readonly text: Repair | ((text: string, rules: NumberRules) => string);
  /** The repaired text, or `refused`; undefined for a text that is not of this kind. */
  readonly applies: (text: string, rules: NumberRules) => string | typeof REFUSED | undefined;
}
const REFUSED = Symbol('refused');
const replaced = (text: string, other: string) => (other === text ? undefined : other);
const refusedIf = (isKind: boolean) => (isKind ? REFUSED : undefined);

/**
 * Every kind of number that is repaired or refused, in the order in which they are looked for. The service accepts only
 * the national format, digits only (service-api, Contact object). A number is repaired where only one can be meant.
 */
const KINDS: readonly Kind[] = [
  {
    text: 'text form of a spreadsheet',
    applies: (text) => {
      const form = TEXT_FORM.exec(text);
      return form?.[1] ?? form?.[2];
    },
  },
  {
    text: 'invisible characters',
    applies: (text) => replaced(text, text.replace(INVISIBLE, '').replaceAll('\t', ' ')),
  },
  {
    text: () => 'expected a phone number, got an empty value',
    applies: (text) => refusedIf(text.trim() === ''),
  },
  {
    text: (text) =>
      `expected a phone number, got the character ${codePointOf(text)} in it: remove it, or write one number in each row`,
    applies: (text) => refusedIf(UNSEEN.test(text.trim())),
  },
  {
    text: 'full-width characters',
    applies: (text) => replaced(text, text.replace(FULL_WIDTH, toAscii)),
  },
  {
    text: () =>
      'a spreadsheet converted the number to a decimal: format the column as text and export the list again',
    applies: (text) => refusedIf(SCIENTIFIC.test(text) || DECIMAL.test(text)),
  },
  {
    text: 'country code',
    applies: (text, { country, anyForm }) =>
      anyForm === true ? internationalForm(text) : country && nationalForm(text, country),
  },
  {
    text: (_, { country }) =>
      country === undefined
        ? `expected the national format, got a plus sign: write the number without its country code, such as 01012345678${OR_COUNTRY(country)}`
        : `expected a phone number of ${country.name}, got one with a plus sign that is none`,
    applies: (text, { anyForm }) => refusedIf(anyForm !== true && text.includes('+')),
  },
  {
    text: (_, { country }) =>
      `expected the national format, got a country code: write 01012345678 instead of 821012345678${OR_COUNTRY(country)}`,
    applies: (text, { country, anyForm }) =>
      refusedIf(
        country === undefined && anyForm !== true && WITH_CODE.test(text.replace(SEPARATORS, '')),
      ),
  },
  {
    text: () =>
      'expected one phone number, got one with an extension, another number or a single digit after it: write one number in each row',
    applies: (text, rules) => refusedIf(hasMore(text, rules)),
  },
  { text: 'separators', applies: (text) => replaced(text, text.replace(SEPARATORS, '')) },
  {
    text: () =>
      'expected a phone number: digits, optionally separated by spaces, hyphens, dots or parentheses',
    applies: (text) => refusedIf(!/^[0-9]+$/.test(text)),
  },
  {
    text: (text) => `expected at most ${MAX_DIGITS} digits, got ${text.length}`,
    applies: (text) => refusedIf(text.length > MAX_DIGITS),
  },
  {
    text: 'leading zero',
    applies: (text, { country }) => {
      if (country === undefined || country.national.test(text)) return undefined;
      const whole = country.trunk + text;
      return country.mobile.test(whole) ? whole : undefined;
    },
  },
  {
    text: (_, { country }) =>
      `a spreadsheet seems to have removed the leading zero: format the column as text and export the list again${OR_COUNTRY(country)}`,
    applies: (text, { country, anyForm }) =>
      refusedIf(
        country === undefined
          ? anyForm !== true && ZERO_LOST.test(text)
          : !country.national.test(text) && country.national.test(country.trunk + text),
      ),
  },
];

/** The national form of a number, or a foreign one without its plus sign. */
function internationalForm(text: string): string | undefined {
  for (const country of Object.values(COUNTRIES)) {
    const national = nationalForm(text, country);
    if (national !== undefined) return national;
  }
  if (!/^[\s(\uff08]*\+/.test(text)) return undefined;
  const digits = text.replace('+', '');
  // Its groups are of any length; what is after it is refused below.
  return ADDITION.test(digits) ? digits : digits.replace(SEPARATORS, '');
}

/** A number in parentheses, or a single digit, at the end. */
const ADDITION = /(?:[)\uff09]|[^0-9][0-9])\s*$/;

const OR_COUNTRY = (country: Country | undefined): string =>
  country === undefined ? ', or name the country with --country (in a program: country)' : '';

/** Reads a phone number of a list. @param rules by default those of any country */
export function checkNumber(cell: string, rules: NumberRules = {}): NumberCheck {
  const { country } = rules;
  const usual = USUAL.exec(cell);
  if (usual !== null) {
    const [, separator = ''] = usual;
    const number = separator === '' ? cell : cell.replaceAll(separator, '');
    if (country === undefined || country.national.test(number)) {
      return { kind: 'number', number, repaired: separator === '' ? NONE : SEPARATED };
    }
  }
  let number = cell;
  let repaired: Repair[] | undefined;
  for (const { text, applies } of KINDS) {
    const result = applies(number, rules);
    if (result === undefined) continue;
    if (result === REFUSED) {
      const reason = typeof text === 'string' ? text : text(number, rules);
      return { kind: 'refused', reason, implausible: false };
    }
    number = result;
    if (typeof text === 'string') (repaired ??= []).push(text);
  }
  const isPlausible = (country?.national ?? PLAUSIBLE).test(number);
  if (isPlausible || rules.allowImplausible === true) {
    return { kind: 'number', number, repaired: repaired ?? NONE };
  }
  const reason =
    country === undefined
      ? `expected 8 to 15 digits, got ${number.length}`
      : `expected a phone number of ${country.name}, got ${number.length} digits that are none`;
  return { kind: 'refused', reason, implausible: true };
}

const NONE: readonly Repair[] = [];
const SEPARATED: readonly Repair[] = ['separators'];

/**
 * Reads a number that is looked for: any that `send()` takes, in any notation.
 *
 * @returns its digits as they are given; it may be stored in any of {@link formsOf}
 */
export function lookUpNumber(
  text: string,
): { readonly kind: 'number'; readonly number: string } | { kind: 'refused'; reason: string } {
  const ascii = text.replace(INVISIBLE, '').replace(FULL_WIDTH, toAscii);
  const number = ascii.replace(SEPARATORS, '').replace(/^\+/, '');
  if (PHONE_NUMBER.test(number)) return { kind: 'number', number };
  const reason = `expected a phone number: its digits, at most ${MAX_DIGITS}`;
  return { kind: 'refused', reason };
}

/** Reads a number for the do-not-send list, in any notation, with a code of a country or without. */
export function checkListed(text: string): NumberCheck {
  const checked = checkNumber(text, { anyForm: true });
  return checked.kind === 'refused'
    ? checked
    : { ...checked, number: canonicalForm(checked.number) };
}

/** Whether a cell is a number of a list, perhaps in a form that is refused, and not the title of a column. */
export function isNumberCell(cell: string): boolean {
  return checkNumber(cell, { allowImplausible: true }).kind === 'number' || isLongNumber(cell);
}

/** The same, without what may be a year or the position of a column. */
export function isLongNumber(cell: string): boolean {
  const digits = cell.match(/\p{Nd}/gu)?.length ?? 0;
  return digits > MAX_TITLE_DIGITS && (SCIENTIFIC.test(cell) || !/\p{L}/u.test(cell));
}

/** How much a cell looks like a phone number: 8 for that of a mobile phone, 4 for a national one, 1 by its length. */
export function phoneLikeness(cell: string, country: Country = COUNTRIES.KR): 0 | 1 | 4 | 8 {
  const checked = checkNumber(cell, { country });
  if (checked.kind === 'number') return country.mobile.test(checked.number) ? 8 : 4;
  return checkNumber(cell).kind === 'number' ? 1 : 0;
}

/**
 * Whether something follows a complete number: groups of digits with at least nine digits, of which the last has at
 * least three (numbers are also written in pairs), or a first group that is a number by itself.
 */
function hasMore(text: string, { country }: NumberRules): boolean {
  if (IN_PARENTHESES.test(text)) return true;
  const groups = text.match(/[0-9]+/g) ?? [];
  let before = '';
  for (const [index, group] of groups.entries()) {
    const isLast = index === groups.length - 1;
    if (isLast) return group.length === 1 && before.length >= SHORTEST_BEFORE_DIGIT;
    before += group;
    const isComplete =
      index === 0
        ? group.length >= SHORTEST_BEFORE_DIGIT
        : (before.length > SHORTEST_BEFORE_DIGIT && group.length >= 3) ||
          (country?.national.test(before) === true && !country.national.test(groups.join('')));
    if (isComplete) return true;
  }
  return false;
}

function codePointOf(text: string): string {
  const code = UNSEEN.exec(text.trim())?.[0].codePointAt(0) ?? 0;
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}

const toAscii = (character: string) => String.fromCharCode(character.charCodeAt(0) - 0xfee0);

/** Result of reading a phone number: the number, or the reason why it is refused. */
export type NumberCheck =
  | {
      readonly kind: 'number';
      /** Only ASCII digits. */
      readonly number: string;
      /** Whether separators were removed or full-width digits replaced. */
      readonly normalised: boolean;
    }
  | { readonly kind: 'refused'; readonly reason: string };

/** The most digits of a title without a letter. */
const MAX_TITLE_DIGITS = 5;
const DIGITS = /^[0-9]{1,20}$/;
/** Spaces of every width, hyphens, dots and parentheses, half and full width. */
const SEPARATORS =
  /[ \u00a0\u2000-\u200d\u202f\u2060\u3000\ufeff\-\u2010-\u2015\u2212\uff0d.\uff0e()\uff08\uff09]/g;
const FULL_WIDTH_DIGIT = /[\uff10-\uff19]/g;
/** Scientific notation of a spreadsheet: digits of a long number are lost. */
const SCIENTIFIC = /^\s*[0-9]+(?:[.,][0-9]+)?[eE]\+?[0-9]+\s*$/;
/** A number with decimals, also from a spreadsheet: without the dot it would be another number. */
const DECIMAL = /^\s*[0-9]+\.[0-9]{0,2}\s*$/;
/** A mobile number with the country code of Korea, with or without the leading zero. */
const COUNTRY_CODE = /^(?:00)?820?1[016789][0-9]{7,8}$/;
/** A mobile number that lost its leading zero. */
const ZERO_LOST = /^1(?:[016789][0-9]{7,8}|[01][0-9]{6})$/;

/**
 * Digits of the shortest number after which a single digit means something else: `02-312-4567(8)` and `02-312-4567-8`
 * are two numbers. Without the separator they would be another number.
 */
const SHORTEST_NUMBER = 8;

/**
 * Reads a phone number of a list. The service accepts only the national format, digits only
 * (service-api, Contact object). Safe corrections are made: separators are removed and full-width
 * digits become ASCII digits. Where a correction would be a guess, the number is refused with a hint.
 */
export function checkNumber(text: string): NumberCheck {
  if (DIGITS.test(text)) return checkDigits(text, false);
  if (text.trim() === '') return refused('expected a phone number, got an empty value');
  if (/[+\uff0b]/.test(text) && !SCIENTIFIC.test(text)) {
    return refused(
      'expected the national format, got a plus sign: write the number without its country code, such as 01012345678',
    );
  }
  if (SCIENTIFIC.test(text) || DECIMAL.test(text)) {
    return refused(
      'a spreadsheet converted the number to a decimal: format the column as text and export the list again',
    );
  }
  const number = text
    .replace(SEPARATORS, '')
    .replace(FULL_WIDTH_DIGIT, (digit) => String.fromCharCode(digit.charCodeAt(0) - 0xfee0));
  if (DIGITS.test(number)) {
    const last = text.split(SEPARATORS).findLast((group) => group !== '');
    if (last?.length === 1 && number.length > SHORTEST_NUMBER) {
      return refused(
        'expected one phone number, got one with a single digit after it: write one number in each row',
      );
    }
    return checkDigits(number, true);
  }
  return refused(
    /^[0-9]+$/.test(number)
      ? `expected at most 20 digits, got ${number.length}`
      : 'expected a phone number: digits, optionally separated by spaces, hyphens, dots or parentheses',
  );
}

/** Whether a cell is a number of a list, perhaps in a form that is refused, and not the title of a column. */
export function isNumberCell(cell: string): boolean {
  return checkNumber(cell).kind === 'number' || isLongNumber(cell);
}

/** The same, without what may be a year or the position of a column. */
export function isLongNumber(cell: string): boolean {
  const digits = cell.match(/\p{Nd}/gu)?.length ?? 0;
  return digits > MAX_TITLE_DIGITS && (SCIENTIFIC.test(cell) || !/\p{L}/u.test(cell));
}

function checkDigits(number: string, normalised: boolean): NumberCheck {
  if (COUNTRY_CODE.test(number)) {
    return refused(
      'expected the national format, got a country code: write 01012345678 instead of 821012345678',
    );
  }
  if (ZERO_LOST.test(number)) {
    return refused(
      'a spreadsheet seems to have removed the leading zero: format the column as text and export the list again',
    );
  }
  return { kind: 'number', number, normalised };
}

function refused(reason: string): NumberCheck {
  return { kind: 'refused', reason };
}

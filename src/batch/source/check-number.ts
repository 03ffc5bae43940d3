/** What a list says a phone number is. */
export type NumberCheck =
  | {
      readonly kind: 'number';
      readonly number: string;
      /** Whether it was written with separators or full-width digits, which are gone now. */
      readonly normalised: boolean;
    }
  | { readonly kind: 'refused'; readonly reason: string };

const DIGITS = /^[0-9]{1,20}$/;
/** Blanks of every width, hyphens, dots and parentheses, half and full width. */
const SEPARATORS =
  /[ \u00a0\u2000-\u200d\u202f\u2060\u3000\ufeff\-\u2010-\u2015\u2212\uff0d.\uff0e()\uff08\uff09]/g;
const FULL_WIDTH_DIGIT = /[\uff10-\uff19]/g;
/** A spreadsheet writes long numbers so, and has lost digits by then. */
const SCIENTIFIC = /^\s*[0-9]+(?:[.,][0-9]+)?[eE]\+?[0-9]+\s*$/;
/** So, too: a number with decimals. Taking the dot out would make another number of it. */
const DECIMAL = /^\s*[0-9]+\.[0-9]{0,2}\s*$/;
/** Korea's country code before a mobile number, with or without the zero that it replaces. */
const COUNTRY_CODE = /^(?:00)?820?1[016789][0-9]{7,8}$/;
/** A mobile number without its leading zero. */
const ZERO_LOST = /^1(?:[016789][0-9]{7,8}|[01][0-9]{6})$/;

/**
 * Reads a phone number as a list has it. What is safe is normalised: separators are taken out and
 * full-width digits become ASCII ones. What would have to be guessed is refused with a hint, for the
 * service wants the national format, digits only (service-api, Contact object).
 */
export function checkNumber(text: string): NumberCheck {
  if (DIGITS.test(text)) return judge(text, false);
  if (text.trim() === '') return refused('expected a phone number, got nothing');
  if (/[+\uff0b]/.test(text) && !SCIENTIFIC.test(text)) {
    return refused(
      'expected the national format, got a plus sign: write the number without its country code, such as 01012345678',
    );
  }
  if (SCIENTIFIC.test(text) || DECIMAL.test(text)) {
    return refused(
      'a spreadsheet turned the number into a decimal one: format the column as text and export the list again',
    );
  }
  const number = text
    .replace(SEPARATORS, '')
    .replace(FULL_WIDTH_DIGIT, (digit) => String.fromCharCode(digit.charCodeAt(0) - 0xfee0));
  if (DIGITS.test(number)) return judge(number, true);
  return refused(
    /^[0-9]+$/.test(number)
      ? `expected at most 20 digits, got ${number.length}`
      : 'expected a phone number: digits, and between them nothing but blanks, hyphens, dots and parentheses',
  );
}

function judge(number: string, normalised: boolean): NumberCheck {
  if (COUNTRY_CODE.test(number)) {
    return refused(
      'expected the national format, got a country code: write 01012345678 in place of 821012345678',
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

import { spellingsOf } from '../service/response/value-pieces.ts';

/** Shorter numbers are found as whole values only: as a part of a text they are years, prices or versions. */
const MIN_DIGITS = 7;

/** Between the digits of a number: spaces, hyphens, dots, parentheses. */
const SEPARATORS = '[^\\p{L}\\p{N}]{0,2}';

/**
 * Whether a text has a phone number in any spelling: with separators, full-width digits, the country code or without
 * the leading zero, also encoded. A longer number that contains it does not count.
 *
 * @param number digits only
 */
export function mentions(text: string, number: string): boolean {
  const pattern = patternOf(number);
  return [text, ...spellingsOf(text)].some((one) => pattern.test(one.normalize('NFKC')));
}

function patternOf(number: string): RegExp {
  if (number.length < MIN_DIGITS) return new RegExp(`"${number}"`);
  const digits = number.replace(/^0/, '');
  const prefix = `(?:(?:00)?82${SEPARATORS}(?:0${SEPARATORS})?|0${SEPARATORS})?`;
  const start = digits === number ? '' : prefix;
  return new RegExp(`(?<!\\p{N})${start}${Array.from(digits).join(SEPARATORS)}(?!\\p{N})`, 'u');
}

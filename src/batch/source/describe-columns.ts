import { NoticeQueueError } from '../../contracts/errors.ts';
import type { Country } from '../../format/country.ts';
import { shellWord } from '../../format/format.ts';
import { isLongNumber, phoneLikeness } from './check-number.ts';
import { readPairs, shownTitle } from './sent-columns.ts';

/** The error of a list that cannot be read, or is not the one that is meant. */
export const invalidList = (problem: string): NoticeQueueError =>
  new NoticeQueueError('SOURCE_INVALID', problem);

export const DELIMITERS = [';', '\t', ',', '|'] as const;

/** What to do if a list has another delimiter than the option. @param other one of {@link DELIMITERS} */
export function delimiterHint(other: string): string {
  const shown = other === '\t' ? 'TAB' : `'${other}'`;
  return `Is the delimiter ${shown}? Then add --delimiter ${shown} (in a program: the option delimiter).`;
}

/** Some rows of a list, by their numbers. */
export type Sample = ReadonlyMap<number, readonly string[]>;

/**
 * Names the columns of a list, and what to do where the one with the numbers was not found.
 *
 * @param positions indexes of the columns that have a position, in order; none of a list of objects
 * @param other what is most likely the delimiter of the list, if it has another one
 */
export function describeColumns(
  titles: readonly string[],
  positions: readonly number[],
  other: string | undefined,
  sample: Sample,
  country: Country | undefined,
): string {
  const columns = titles
    .slice(0, 20)
    .map((title) => `"${shownTitle(title)}"`)
    .join(', ');
  const hint = () => mapHint(titles, positions, sample, country);
  return `The columns are ${columns}. ${other === undefined ? hint() : delimiterHint(other)}`;
}

const MOBILE = /mobile|cell|\bhp\b|휴대|핸드폰|携帯/i;
const PHONE = /phone|\btel|contact|전화|연락처|電話/i;
const NOT_PERSONAL = /fax|office|home|팩스|집|회사/i;

/** What a title says of its column: the more, the more likely it is the one of mobile numbers. */
function rankOf(title: string): number {
  const rank = MOBILE.test(title) ? 4 : PHONE.test(title) ? 2 : 0;
  return NOT_PERSONAL.test(title) ? rank - 2.5 : rank;
}

const isPhoneTitle = (title: string) => MOBILE.test(title) || PHONE.test(title);

function mapHint(
  titles: readonly string[],
  positions: readonly number[],
  sample: Sample,
  country: Country | undefined,
): string {
  const number = titles.findIndex(isLongNumber) + 1;
  const isUntitled = positions.length > 0 && !titles.some(isPhoneTitle);
  const likeness = (cell: string) => phoneLikeness(cell, country);
  const [titleRow] =
    [...sample].find(([, row]) => row.some(isPhoneTitle) && !row.some(likeness)) ?? [];
  if (number > 0 && isUntitled && titleRow === undefined) {
    return `Has the list no titles? Then add --no-header --map contact=${number} (in a program: header: false and the option map).`;
  }
  const index = numbersIn(titles, [...sample.values()], likeness);
  const value = shellWord(`contact=${nameOf(titles, positions, index)}`);
  const hint = `Name the one with the phone numbers, such as --map ${value} (in a program: the option map).`;
  return isUntitled && titleRow !== undefined
    ? `${hint} The titles seem to be in row ${titleRow}: remove the rows above it.`
    : hint;
}

/** What a map calls a column: its title or, where that does not name it or is not shown, its position. */
function nameOf(titles: readonly string[], positions: readonly number[], index: number): string {
  const title = titles[index] ?? '';
  const read = readPairs(`contact=${shownTitle(title)}`);
  const isName = typeof read !== 'string' && read['contact'] === title;
  if (isName && titles.indexOf(title) === titles.lastIndexOf(title)) return title;
  const position = String(positions.indexOf(index) + 1);
  // A map finds a title before a position.
  return position === '0' || titles.includes(position) ? 'TITLE' : position;
}

/** Index of the column that most likely has the numbers: its cells look like them, and best its title, too. */
function numbersIn(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
  likeness: (cell: string) => number,
): number {
  const scores = titles.map((title, index) => {
    const cells = rows.map((row) => row[index] ?? '').filter((cell) => cell.trim() !== '');
    if (cells.length === 0) return rankOf(title) / 10;
    const like = cells.map(likeness).filter((one) => one > 0);
    const sum = like.reduce((all, one) => all + one, 0);
    return like.length * 2 < cells.length ? 0 : sum / cells.length + rankOf(title);
  });
  const best = Math.max(...scores);
  return best > 0 ? scores.indexOf(best) : -1;
}

import { NoticeQueueError } from '../../contracts/errors.ts';
import type { Country } from '../../format/country.ts';
import { isLongNumber, phoneLikeness } from './check-number.ts';
import { shownTitle } from './sent-columns.ts';

/** The error of a list that cannot be read, or is not the one that is meant. */
export const invalidList = (problem: string): NoticeQueueError =>
  new NoticeQueueError('SOURCE_INVALID', problem);

export const DELIMITERS = [';', '\t', ',', '|'] as const;

/** What to do if a list has another delimiter than the option. @param other one of {@link DELIMITERS} */
export function delimiterHint(other: string): string {
  const shown = other === '\t' ? 'TAB' : `'${other}'`;
  return `Is the delimiter ${shown}? Then add --delimiter ${shown} (in a program: the option delimiter).`;
}

/**
 * Names the columns of a list, and what to do where the one with the numbers was not found.
 *
 * @param other what is most likely the delimiter of the list, if it has another one
 * @param sample some rows of the list
 */
export function describeColumns(
  titles: readonly string[],
  other: string | undefined,
  sample: readonly (readonly string[])[],
  country: Country | undefined,
): string {
  const columns = titles
    .slice(0, 20)
    .map((title) => `"${shownTitle(title)}"`)
    .join(', ');
  return `The columns are ${columns}. ${other === undefined ? mapHint(titles, sample, country) : delimiterHint(other)}`;
}

const PHONE =
  /phone|mobile|cell|\btel|\bhp\b|contact|휴대폰|휴대전화|핸드폰|전화|연락처|電話|携帯/i;

function mapHint(
  titles: readonly string[],
  sample: readonly (readonly string[])[],
  country: Country | undefined,
): string {
  const number = titles.findIndex(isLongNumber) + 1;
  if (number > 0 && !titles.some((one) => PHONE.test(one))) {
    return `Has the list no titles? Then add --no-header --map contact=${number} (in a program: header: false and the option map).`;
  }
  const title = titles[numbersIn(titles, sample, country) ?? -1];
  const value = `contact=${title === undefined ? 'TITLE' : shownTitle(title)}`;
  const shown = /^[\w=.-]+$/.test(value) ? value : `"${value}"`;
  return `Name the one with the phone numbers, such as --map ${shown} (in a program: the option map).`;
}

/** Index of the column that most likely has the numbers: its cells look like them, and best its title, too. */
function numbersIn(
  titles: readonly string[],
  sample: readonly (readonly string[])[],
  country: Country | undefined,
): number | undefined {
  const scores = titles.map((title, index) => {
    const cells = sample.map((row) => row[index] ?? '').filter((cell) => cell.trim() !== '');
    const sum = cells.reduce((all, cell) => all + phoneLikeness(cell, country), 0);
    const isNamed = PHONE.test(title);
    if (cells.length === 0) return isNamed ? 1 : 0;
    const likeness = sum / cells.length;
    return likeness < 0.5 ? 0 : likeness + (isNamed ? 3 : 0);
  });
  const best = Math.max(...scores);
  return best > 0 ? scores.indexOf(best) : undefined;
}

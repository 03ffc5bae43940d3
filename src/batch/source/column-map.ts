import { VARIABLE_NAME } from '../../contracts/notice.ts';
import { isLongNumber, isNumberCell, type NumberRules } from './check-number.ts';
import { DELIMITERS, describeColumns, invalidList, type Sample } from './describe-columns.ts';
import { unescapeCell } from '../failures/csv-line.ts';
import {
  canonical,
  compareFields,
  isSentByName,
  REJECTED_PREFIX,
  shownTitle,
  titleOf,
  type FieldMap,
  type SentColumns,
} from './sent-columns.ts';

/** Property names with a special meaning in JavaScript; contacts must not have such fields. */
export const FORBIDDEN_NAMES: ReadonlySet<string> = new Set([
  '__proto__',
  'constructor',
  'prototype',
]);
/** A column of every file of refused rows or failures: such a file has titles, and escaped cells. */
const REASON_COLUMN = `${REJECTED_PREFIX}reason`;
/**
 * A column that only a file of failures has; its other columns are fields that were sent before. Its own file of
 * refused rows keeps it.
 */
const FAILURES_COLUMN = `${REJECTED_PREFIX}state`;

export interface CsvOptions {
  /** By default what the first line names, or else the ending of the file's name. */
  readonly delimiter?: string | undefined;
  readonly file?: string | undefined;
  readonly header: boolean;
  readonly map?: FieldMap | undefined;
  /** Whether columns that are neither mapped nor `contact` nor `varN` are sent. */
  readonly passThrough: boolean;
  /** By default those of numbers of any country. */
  readonly rules?: NumberRules | undefined;
  readonly require?: readonly string[];
  readonly keep?: readonly string[];
}

interface Column {
  readonly index: number;
  /** Of the field of the contact. */
  readonly name: string;
  readonly required: boolean;
  readonly title: string;
  /** Whether the field is a template variable, `varN`. */
  readonly variable: boolean;
  /** JSON before the value: a comma, the field name, a colon. */
  readonly json: string;
}

export interface Columns {
  readonly width: number;
  readonly header: boolean;
  /** Titles of the list's own columns, in order: without those that a rejects file added. */
  readonly titles: readonly string[];
  readonly contact: Column;
  readonly others: readonly Column[];
  /** Indexes of the columns that are kept and not sent. */
  readonly kept: readonly number[];
  /** Titles of the columns that are sent, and of those that are not. */
  readonly sent: SentColumns;
  /** Returns the value of a cell: without the escape of a rejects file, if the list is one. */
  readonly unescape: (cell: string) => string;
  /** Cells of the list's own columns, as they were in the list before a rejects file was written. */
  readonly original: (cells: readonly string[]) => readonly string[];
  /** Whether cells have no such escapes. */
  readonly isPlain: boolean;
  /** Whether the list is an export of contacts that were not accepted. */
  readonly isFailures: boolean;
  readonly rules: NumberRules;
}

const unchanged = <T>(value: T) => value;
/**
 * Reads the header row, or the first row of a list without header.
 *
 * Without a map, columns named `contact` and `varN` (in any case) become those fields. Other columns are
 * not sent, except with `passThrough` or in a file of failures: then they become fields of their own
 * names. A column without a title is never sent.
 *
 * A file of refused rows is read with the options of its list: it has titles even if the list had none, and
 * positions count the columns of the list. The columns of a file of failures have no positions in the list.
 *
 * @throws NoticeQueueError SOURCE_INVALID that names the invalid column, and the columns of the list
 */
export function readColumns(
  first: readonly string[],
  options: CsvOptions & {
    /** Some rows of the list, to find the column with the numbers. */
    readonly sample?: Sample;
  },
): Columns {
  const { rules = {}, sample = new Map(), require: required = [], keep = [] } = options;
  const isPlain = !first.some((cell) => cell.trim() === REASON_COLUMN);
  const header = options.header || !isPlain;
  const unescape = isPlain ? unchanged : unescapeCell;
  const titles = header
    ? first.map((title) => titleOf(unescape(title)))
    : first.map((_, index) => String(index + 1));
  const names = header ? titles.map(canonical) : titles;
  if (header && isPlain) refuseContactAsTitle(titles, options.map?.['contact']);
  if (header) refuseForbiddenNames(names);
  const isFailures = names.includes(FAILURES_COLUMN);
  const all = isFailures || (options.header && options.passThrough);
  const isOwn = (_: unknown, index: number) =>
    isPlain || titles[index] === FAILURES_COLUMN || !isAdded(titles[index] ?? '');
  const positions = isFailures ? [] : [...titles.keys()].filter(isOwn);
  const hint = () => {
    const [only = ''] = first.length === 1 ? first : [];
    const other = DELIMITERS.find((one) => one !== options.delimiter && only.includes(one));
    return describeColumns(titles, positions, other, sample, rules.country);
  };
  const of = (map: FieldMap) => byMap(header ? titles : [], positions, map, hint);
  const mapped = of(options.map ?? {});
  const kept = of(Object.fromEntries(keep.map((title) => [title, title])));
  const named = byName(header ? names : [], mapped);
  const chosen = [
    ...mapped,
    ...named.filter(({ name }) => all || (options.map === undefined && isSentByName(name))),
  ];
  if (header) refuseRepeated(chosen);
  const missing = required.find((field) => !chosen.some(({ name }) => name === field));
  if (missing !== undefined) {
    throw invalidList(
      `Line 1: no column is sent as ${shownTitle(missing)}, which is required. ${hint()}`,
    );
  }
  const contact = chosen.find(({ name }) => name === 'contact');
  if (contact === undefined) {
    throw invalidList(
      header
        ? `Line 1: there is no column "contact". ${hint()}`
        : 'A list without a header row needs a map with the position of the contact column, such as contact=1.',
    );
  }
  return {
    width: first.length,
    header,
    titles: titles.filter(isOwn),
    contact: columnOf(contact.index, titles[contact.index] ?? '', 'contact', required),
    kept: kept.map(({ index }) => index),
    others: chosen
      .filter((column) => column !== contact)
      .sort((left, right) => compareFields(left.name, right.name))
      .map(({ index, name }) => columnOf(index, titles[index] ?? '', name, required)),
    sent: sentColumns(titles, chosen),
    unescape,
    original: isPlain ? unchanged : (cells) => cells.filter(isOwn).map(unescape),
    isPlain,
    isFailures,
    rules,
  };
}

interface Chosen {
  readonly index: number;
  readonly name: string;
}

function refuseForbiddenNames(names: readonly string[]): void {
  const index = names.findIndex((name) => FORBIDDEN_NAMES.has(name));
  if (index < 0) return;
  throw invalidList(
    `Line 1, column ${index + 1}: the column name "${names[index]}" is not allowed; rename it.`,
  );
}

/** Two columns that would become the same field. Other titles may stand twice. */
function refuseRepeated(chosen: readonly Chosen[]): void {
  const seen = new Set<string>();
  for (const { index, name } of chosen) {
    if (seen.has(name)) {
      throw invalidList(
        `Line 1, column ${index + 1}: there is already a column "${shownTitle(name)}"; rename one of them.`,
      );
    }
    seen.add(name);
  }
}

/**
 * A list without titles, read without the option that says so: its first contact would be taken for titles and lost.
 * With a title of that text in another column, the contacts would even be taken from there.
 *
 * @param source the column of the contacts in the map
 */
function refuseContactAsTitle(titles: readonly string[], source: string | number = ''): void {
  const title = titleOf(String(source));
  const cell = titles[Number(title) - 1] ?? '';
  const isContact = titles.includes(title) ? isLongNumber(cell) : isNumberCell(cell);
  if (!isContact) return;
  throw invalidList(
    `Line 1: the map takes contact from column ${title}, where the row of titles has a phone number. Has the list no titles? Then add --no-header (in a program: header: false). If it is a title, write it in the map instead of the position.`,
  );
}

/** Columns that may be sent under their own names: without a title, or used by the map, they are not. */
function byName(names: readonly string[], mapped: readonly Chosen[]): Chosen[] {
  return names
    .map((name, index) => ({ index, name }))
    .filter(({ name }) => name !== '' && !name.startsWith(REJECTED_PREFIX))
    .filter((own) => !mapped.some(({ index, name }) => index === own.index || name === own.name));
}

function sentColumns(titles: readonly string[], chosen: readonly Chosen[]): SentColumns {
  const indexes = new Set(chosen.map(({ index }) => index));
  const listed = (isSent: boolean) =>
    titles
      .map((title, index) => ({ index, title: title === '' ? `column ${index + 1}` : title }))
      .filter(({ index, title }) => indexes.has(index) === isSent && !isAdded(title))
      .map(({ title }) => shownTitle(title));
  return { sent: listed(true), leftOut: listed(false) };
}

const isAdded = (title: string) => title.startsWith(REJECTED_PREFIX);

/** @param titles none for a list without them */
function byMap(
  titles: readonly string[],
  positions: readonly number[],
  map: FieldMap,
  hint: () => string,
): Chosen[] {
  return Object.entries(map).map(([name, source]) => {
    const title = titleOf(String(source));
    const named = typeof source === 'string' ? titles.indexOf(title) : -1;
    const other = titles.indexOf(title, named + 1);
    if (named >= 0 && other >= 0) {
      throw invalidList(
        `Line 1: the map takes ${name} from column "${shownTitle(title)}", and there are two of this title: rename one, or write the position in the map, such as ${name}=${named + 1} or ${name}=${other + 1}.`,
      );
    }
    // Titles are searched before positions: a column may be titled "2".
    const index = named >= 0 ? named : positions[Number(source) - 1];
    if (index !== undefined) return { index, name };
    throw invalidList(
      `Line 1: the map takes ${name} from column "${source}", which does not exist. ${hint()}`,
    );
  });
}

function columnOf(index: number, title: string, name: string, required: readonly string[]): Column {
  return {
    index,
    name,
    required: required.includes(name),
    title,
    variable: VARIABLE_NAME.test(name),
    json: `,${JSON.stringify(name)}:`,
  };
}

import { VARIABLE_NAME } from '../../contracts/notice.ts';
import { NoticeQueueError } from '../../contracts/errors.ts';

/** Names that JavaScript gives a meaning; no contact has a field of such a name. */
export const FORBIDDEN_NAMES: ReadonlySet<string> = new Set([
  '__proto__',
  'constructor',
  'prototype',
]);
/** What the file of refused rows adds; it may be imported as it is, once mended. */
export const REJECTED_PREFIX = 'rejected_';

/**
 * Which field of a contact comes from which column: `{ contact: 'Phone', var1: 'Name' }`, or by
 * position from 1 on: `{ contact: 1, var1: 2 }`. Only mapped columns are sent.
 */
export type FieldMap = Readonly<Record<string, string | number>>;

/** One column that becomes a field. */
interface Column {
  readonly index: number;
  /** What the list calls it. */
  readonly title: string;
  readonly variable: boolean;
  /** A comma, its name in JSON, a colon. */
  readonly json: string;
}

/** The columns of a list, and what becomes of them. */
export interface Columns {
  /** How many each row has. */
  readonly width: number;
  /** What the list calls all of them, in order; for the file of refused rows. */
  readonly titles: readonly string[];
  readonly contact: Column;
  readonly others: readonly Column[];
  /** The text that a cell stands for. */
  readonly plain: (cell: string) => string;
  /** Whether every cell stands for itself. */
  readonly isPlain: boolean;
}

const asItIs = (cell: string) => cell;
/** Takes off the apostrophe that csv-line.ts sets before what looks like a formula. */
const unescaped = (cell: string) => (/^'+[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell);

/**
 * Reads the header row, or the first row of a list without one.
 *
 * Without a map, columns named `contact` and `varN` (in any case) are those fields, and others pass
 * through under their own names; a column without a name is not sent.
 *
 * @throws NoticeQueueError SOURCE_INVALID that names the column and what there is
 */
export function readColumns(
  first: readonly string[],
  options: {
    readonly header: boolean;
    readonly delimiter: string;
    readonly map?: FieldMap | undefined;
  },
): Columns {
  const titles = options.header
    ? first.map((title) => title.trim())
    : first.map((_, index) => String(index + 1));
  const names = options.header ? titles.map(canonical) : titles;
  if (options.header) refuseOddNames(names);
  const chosen =
    options.map === undefined ? byName(names, options.header) : byMap(titles, options.map, options);
  const contact = chosen.find(({ name }) => name === 'contact');
  if (contact === undefined) {
    throw new NoticeQueueError(
      'SOURCE_INVALID',
      options.header
        ? `Line 1: there is no column "contact". ${found(titles, options.delimiter)}`
        : 'A list without a header row needs a map that says which column is the contact, such as contact=1.',
    );
  }
  const isPlain = !names.includes(`${REJECTED_PREFIX}reason`);
  return {
    width: first.length,
    titles,
    contact: columnOf(contact.index, titles[contact.index] ?? '', 'contact'),
    others: chosen
      .filter((column) => column !== contact)
      .map(({ index, name }) => columnOf(index, titles[index] ?? '', name)),
    plain: isPlain ? asItIs : unescaped,
    isPlain,
  };
}

interface Chosen {
  readonly index: number;
  readonly name: string;
}

/** `Contact` and `VAR1` are what they look like; other names are the list's own. */
function canonical(title: string): string {
  const lower = title.toLowerCase();
  return lower === 'contact' || /^var[1-9][0-9]*$/.test(lower) ? lower : title;
}

function refuseOddNames(names: readonly string[]): void {
  const seen = new Set<string>();
  for (const [index, name] of names.entries()) {
    if (FORBIDDEN_NAMES.has(name)) {
      throw new NoticeQueueError(
        'SOURCE_INVALID',
        `Line 1, column ${index + 1}: a column must not be named "${name}"; rename it.`,
      );
    }
    if (name !== '' && seen.has(name)) {
      throw new NoticeQueueError(
        'SOURCE_INVALID',
        `Line 1, column ${index + 1}: there is a column "${shown(name)}" before it already; rename one of them.`,
      );
    }
    seen.add(name);
  }
}

function byName(names: readonly string[], header: boolean): Chosen[] {
  if (!header) return [];
  return names
    .map((name, index) => ({ index, name }))
    .filter(({ name }) => name !== '' && !name.startsWith(REJECTED_PREFIX));
}

function byMap(
  titles: readonly string[],
  map: FieldMap,
  { header, delimiter }: { readonly header: boolean; readonly delimiter: string },
): Chosen[] {
  return Object.entries(map).map(([name, source]) => {
    const index = indexOf(titles, source, header);
    if (index !== undefined) return { index, name };
    throw new NoticeQueueError(
      'SOURCE_INVALID',
      `Line 1: the map takes ${name} from column "${source}", which is not there. ${found(titles, delimiter)}`,
    );
  });
}

/** A name is looked for first: a column may be called "2". */
function indexOf(
  titles: readonly string[],
  source: string | number,
  header: boolean,
): number | undefined {
  if (header && typeof source === 'string') {
    const named = titles.indexOf(source.trim());
    if (named >= 0) return named;
  }
  const position = Number(source);
  const there = Number.isSafeInteger(position) && position >= 1 && position <= titles.length;
  return there ? position - 1 : undefined;
}

function found(titles: readonly string[], delimiter: string): string {
  const columns = titles
    .slice(0, 20)
    .map((title) => `"${shown(title)}"`)
    .join(', ');
  const other = [';', '\t', ',', '|'].find(
    (character) => character !== delimiter && titles.length === 1 && titles[0]?.includes(character),
  );
  const hint = other === undefined ? '' : ` Is the delimiter '${other === '\t' ? 'TAB' : other}'?`;
  return `There is ${columns}.${hint}`;
}

/** A list without a header has a contact in its first row: digits are not shown. */
function shown(title: string): string {
  return title.slice(0, 40).replaceAll(/[0-9]{4,}/g, '...');
}

function columnOf(index: number, title: string, name: string): Column {
  return {
    index,
    title,
    variable: VARIABLE_NAME.test(name),
    json: `,${JSON.stringify(name)}:`,
  };
}

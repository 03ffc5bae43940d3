import { VARIABLE_NAME } from '../../contracts/notice.ts';

/**
 * Maps each field of a contact to a column of the list: by title, `{ contact: 'Phone', var1: 'Name' }`,
 * or by position from 1, `{ contact: 1, var1: 2 }`. Columns that are not mapped are not sent.
 */
export type FieldMap = Readonly<Record<string, string | number>>;

/** A comma before another `field=`, or before nothing: other commas belong to the title of a column. */
const NEXT_PAIR = /,(?=[^,=]+=|\s*(?:,|$))/;

/** Reads a map that is written as `contact=Phone, mobile,var1=Name`. @returns what is wrong with it, as text */
export function readPairs(text: string): FieldMap | string {
  const pairs = text.split(NEXT_PAIR).map((pair): [string, string] => {
    const at = pair.indexOf('=');
    return [pair.slice(0, Math.max(0, at)).trim(), pair.slice(at + 1).trim()];
  });
  const fields = pairs.map(([field]) => field);
  if (pairs.some((pair) => pair.includes(''))) {
    return 'expected field=column pairs, such as contact=phone,var1=name';
  }
  // Schemas drop it without a word.
  if (fields.includes('__proto__')) return '__proto__ is no field';
  const twice = fields.find((field, index) => fields.indexOf(field) !== index);
  return twice === undefined ? Object.fromEntries(pairs) : `${twice} is named twice`;
}

/** Prefix of the columns that a rejects file adds; imports ignore them, so it can be imported again. */
export const REJECTED_PREFIX = 'rejected_';

export interface SentColumns {
  readonly sent: readonly string[];
  /** Columns that are not sent. Columns that a rejects file adds are not listed. */
  readonly leftOut: readonly string[];
}

/** The most columns that a report lists: objects may have any number of different fields. */
const MAX_LISTED = 100;

/** Fields that are sent without a map: the phone number and the variables of the template. */
export function isSentByName(name: string): boolean {
  return name === 'contact' || VARIABLE_NAME.test(name);
}

/** Whether a name looks like one of those and is none, such as `Var1` or `var01`: no template has it. */
export function isMisspelt(name: string): boolean {
  return /^\s*(?:contact|var[0-9]+)\s*$/i.test(name) && !isSentByName(name);
}

/** Field names `contact` and `varN` are recognised in any case; other names are kept as they are. */
export function canonical(title: string): string {
  const lower = title.toLowerCase();
  return lower === 'contact' || /^var[1-9][0-9]*$/.test(lower) ? lower : title;
}

const PLAIN_TITLE = /^\w+$/;

/** A title as it is compared: the same characters, however they are encoded and whatever blanks are between them. */
export function titleOf(cell: string): string {
  if (PLAIN_TITLE.test(cell)) return cell;
  const composed = cell.normalize('NFC').replaceAll(/\p{Cf}/gu, '');
  return composed.replaceAll(/[\s\p{Z}]+/gu, ' ').trim();
}

/**
 * Order of a contact's fields: `var2` before `var10`, then others by name. It does not depend on the list,
 * so that the same content in another format is recognised (row-processor.ts).
 */
export function compareFields(left: string, right: string): number {
  const numbers = [left, right].map((name) =>
    VARIABLE_NAME.test(name) ? Number(name.slice(3)) : Infinity,
  );
  const [one = 0, other = 0] = numbers;
  if (one !== other) return one < other ? -1 : 1;
  return left < right ? -1 : 1;
}

/**
 * A title as it may be shown: in the first row of a list without titles it may be a phone number, so no
 * digits are shown of one that contains more than five.
 */
export function shownTitle(title: string): string {
  const digits = title.match(/\p{Nd}/gu)?.length ?? 0;
  return digits > 5 ? title.slice(0, 40).replaceAll(/\p{Nd}+/gu, '...') : title.slice(0, 40);
}

/**
 * Chooses the fields of a list of objects that are sent: those of the map or, without one, `contact` and
 * `varN`. With `passThrough` all others are sent too, under their own names; a mapped field comes first.
 */
export class FieldChoice {
  /** Each field of the list that the map uses, and the fields of the contact it becomes; empty without a map. */
  readonly mapped: ReadonlyMap<string, readonly string[]>;
  readonly #targets: ReadonlySet<string>;
  readonly #passThrough: boolean;
  readonly #seen = new Map<string, readonly string[]>();
  /** Fields of the contact that must not be empty. */
  readonly required: readonly string[];
  /** Fields of the list that are kept and not sent. */
  readonly kept: readonly string[];

  constructor(
    map: FieldMap | undefined,
    passThrough: boolean,
    required: readonly string[] = [],
    kept: readonly string[] = [],
  ) {
    this.required = required;
    this.kept = kept.map(titleOf);
    const mapped = new Map<string, string[]>();
    for (const [name, source] of Object.entries(map ?? {})) {
      const field = titleOf(String(source));
      mapped.set(field, [...(mapped.get(field) ?? []), name]);
    }
    this.mapped = mapped;
    this.#targets = new Set(Object.keys(map ?? {}));
    this.#passThrough = passThrough;
  }

  /** Names of a field in the contact; none if it is not sent. */
  namesOf(field: string): readonly string[] {
    const seen = this.#seen.get(field);
    if (seen !== undefined) return seen;
    const names = this.#choose(field);
    if (this.#seen.size < MAX_LISTED && !field.startsWith(REJECTED_PREFIX)) {
      this.#seen.set(field, names);
    }
    return names;
  }

  /** The fields met so far, at most 100. */
  columns(): SentColumns {
    const fields = [...this.#seen];
    const named = (sent: boolean) =>
      fields
        .filter(([, names]) => (sent ? names.length > 0 : names.length === 0))
        .map(([field]) => shownTitle(field));
    return { sent: named(true), leftOut: named(false) };
  }

  #choose(field: string): readonly string[] {
    if (field.startsWith(REJECTED_PREFIX)) return [];
    const names = this.mapped.get(field);
    if (names !== undefined) return names;
    const name = canonical(field);
    const byName = this.mapped.size === 0 && isSentByName(name);
    return byName || (this.#passThrough && !this.#targets.has(name)) ? [name] : [];
  }
}

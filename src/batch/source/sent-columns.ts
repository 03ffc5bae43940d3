import { VARIABLE_NAME } from '../../contracts/notice.ts';

/**
 * Maps each field of a contact to a column of the list: by title, `{ contact: 'Phone', var1: 'Name' }`,
 * or by position from 1, `{ contact: 1, var1: 2 }`. Columns that are not mapped are not sent.
 */
export type FieldMap = Readonly<Record<string, string | number>>;

/** Prefix of the columns that a rejects file adds; imports ignore them, so it can be imported again. */
export const REJECTED_PREFIX = 'rejected_';

/** What became of the columns of a list, or of the fields of a list of objects. */
export interface SentColumns {
  /** Columns whose values are sent to the service. */
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

/**
 * Order of a contact's fields: `var2` before `var10`, then others by name. It does not depend on the list,
 * so that the same content in another format is recognised (list-digest.ts).
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
  /** Field of the list and field of the contact, for each entry of the map; empty without one. */
  readonly mapped: ReadonlyMap<string, string>;
  readonly #targets: ReadonlySet<string>;
  readonly #passThrough: boolean;
  readonly #seen = new Map<string, string | undefined>();

  constructor(map: FieldMap | undefined, passThrough: boolean) {
    const entries = Object.entries(map ?? {});
    this.mapped = new Map(entries.map(([name, source]) => [String(source), name]));
    this.#targets = new Set(this.mapped.values());
    this.#passThrough = passThrough;
  }

  /** Name of a field in the contact; undefined if it is not sent. */
  nameOf(field: string): string | undefined {
    if (this.#seen.has(field)) return this.#seen.get(field);
    const name = this.#choose(field);
    if (this.#seen.size < MAX_LISTED && !field.startsWith(REJECTED_PREFIX)) {
      this.#seen.set(field, name);
    }
    return name;
  }

  /** The fields met so far, at most 100. */
  columns(): SentColumns {
    const fields = [...this.#seen];
    const named = (sent: boolean) =>
      fields
        .filter(([, name]) => (name !== undefined) === sent)
        .map(([field]) => shownTitle(field));
    return { sent: named(true), leftOut: named(false) };
  }

  #choose(field: string): string | undefined {
    if (field.startsWith(REJECTED_PREFIX)) return undefined;
    const name = this.mapped.get(field);
    if (name !== undefined) return name;
    const byName = this.mapped.size === 0 && isSentByName(field);
    return byName || (this.#passThrough && !this.#targets.has(field)) ? field : undefined;
  }
}

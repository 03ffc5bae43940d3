import { countOf, formatCount } from '../../format/format.ts';
import { RowNumbers } from '../../payload/row-numbers.ts';
import type { Repair } from '../source/check-number.ts';
import type { RowRefusal } from '../source/check-row.ts';
import type { ImportReport } from './import-options.ts';

/** The most refused rows, and the most duplicates, that a report lists. */
const MAX_LISTED = 20;
const MAX_EXAMPLES = 2;
const NONE: readonly Repair[] = [];

/** Counts the rows of a list; contacts, duplicates and refused rows add up to the rows. */
export class RowTally {
  contacts = 0;
  duplicates = 0;
  refused = 0;
  /** The part of the duplicates that recent lists have, too. */
  repeated = 0;
  implausible = 0;
  #normalised = 0;
  readonly #repaired = new Map<Repair, number>();
  #implausibleAt: ImportReport['firstRefused'][number] | undefined;
  readonly refusedRows = new RowNumbers();
  readonly duplicateRows = new RowNumbers();
  readonly #firstRefused: ImportReport['firstRefused'][number][] = [];
  readonly #reasons = new Map<string, ImportReport['reasons'][number]>();
  readonly #firstDuplicates: number[] = [];
  readonly #empty = new Map<string, number>();

  get rows(): number {
    return this.contacts + this.duplicates + this.refused;
  }

  countContact(repaired: readonly Repair[] = NONE): void {
    this.contacts++;
    if (repaired.length === 0) return;
    this.#normalised++;
    for (const repair of repaired) {
      this.#repaired.set(repair, (this.#repaired.get(repair) ?? 0) + 1);
    }
  }

  /** @param rows how many have no value for each variable */
  countEmpty(rows: Iterable<readonly [name: string, rows: number]> = []): void {
    for (const [name, count] of rows) this.#empty.set(name, (this.#empty.get(name) ?? 0) + count);
  }

  countDuplicate(row: number): void {
    this.duplicates++;
    this.duplicateRows.add(row);
    if (this.#firstDuplicates.length < MAX_LISTED) this.#firstDuplicates.push(row);
  }

  /** Counts a contact that is left out because a recent list has its number. */
  countRepeated(row: number): void {
    this.duplicates++;
    this.duplicateRows.add(row);
    this.repeated++;
  }

  countRefused(row: number, line: number, { field, reason, implausible }: RowRefusal): void {
    this.refused++;
    this.refusedRows.add(row);
    const refused = { row, line, field, reason };
    if (implausible === true && this.implausible++ === 0) this.#implausibleAt = refused;
    if (this.#firstRefused.length < MAX_LISTED) this.#firstRefused.push(refused);
    this.#countReason(row, field, reason);
  }

  #countReason(row: number, field: string, reason: string): void {
    const key = `${field}\0${reason}`;
    const known = this.#reasons.get(key);
    if (known === undefined && this.#reasons.size >= MAX_LISTED) return;
    const { count, rows } = known ?? { count: 0, rows: [] };
    const examples = rows.length < MAX_EXAMPLES ? [...rows, row] : rows;
    this.#reasons.set(key, { field, reason, count: count + 1, rows: examples });
  }

  /** Why the list is most likely not the one that is meant; undefined if it is. */
  whyImplausible(): string | undefined {
    const { implausible } = this;
    const numbers = this.contacts + this.duplicates + implausible;
    if (implausible * 100 <= numbers) return undefined;
    const { row, field, reason } = this.#implausibleAt ?? { row: 0, field: '', reason: '' };
    return `${formatCount(implausible)} of ${countOf(numbers, 'number')} ${implausible === 1 ? 'is' : 'are'} implausible (row ${row}, ${field}: ${reason}). Is this the column with the phone numbers? --allow-implausible (allowImplausible) sends to them, too; nothing was queued.`;
  }

  report() {
    const { rows, contacts, duplicates, repeated, refused } = this;
    return {
      repeated,
      rows,
      contacts,
      duplicates,
      refused,
      normalised: this.#normalised,
      repaired: Object.fromEntries(this.#repaired),
      firstRefused: this.#firstRefused,
      reasons: [...this.#reasons.values()].sort((one, other) => other.count - one.count),
      empty: Object.fromEntries(this.#empty),
      firstDuplicates: this.#firstDuplicates,
    };
  }
}

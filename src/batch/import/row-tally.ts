import type { RowRefusal } from '../source/check-row.ts';
import type { ImportReport } from './import-options.ts';

/** How many rows are named in a report. */
const MAX_NAMED = 20;

/** Counts what became of a list's rows; contacts, duplicates and refused ones add up to the rows. */
export class RowTally {
  contacts = 0;
  duplicates = 0;
  refused = 0;
  #normalised = 0;
  readonly #firstRefused: ImportReport['firstRefused'][number][] = [];
  readonly #firstDuplicates: number[] = [];

  get rows(): number {
    return this.contacts + this.duplicates + this.refused;
  }

  /** @param normalised whether its number was written otherwise */
  take(normalised: boolean): void {
    this.contacts++;
    if (normalised) this.#normalised++;
  }

  duplicate(line: number): void {
    this.duplicates++;
    if (this.#firstDuplicates.length < MAX_NAMED) this.#firstDuplicates.push(line);
  }

  refuse(line: number, { field, reason }: RowRefusal): void {
    this.refused++;
    if (this.#firstRefused.length < MAX_NAMED) this.#firstRefused.push({ line, field, reason });
  }

  report(): Pick<
    ImportReport,
    | 'rows'
    | 'contacts'
    | 'duplicates'
    | 'refused'
    | 'normalised'
    | 'firstRefused'
    | 'firstDuplicates'
  > {
    return {
      rows: this.rows,
      contacts: this.contacts,
      duplicates: this.duplicates,
      refused: this.refused,
      normalised: this.#normalised,
      firstRefused: this.#firstRefused,
      firstDuplicates: this.#firstDuplicates,
    };
  }
}

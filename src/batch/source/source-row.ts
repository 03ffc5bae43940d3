import type { RowCheck } from './check-row.ts';
import type { ContactBlock } from './contact-block.ts';

/** A row of a list, read and checked. */
export interface SourceRow {
  /** The line it begins in, from 1 on; of an iterable, which contact it is. */
  readonly line: number;
  readonly check: RowCheck;
  /** What the list has there, where the row is refused: its cells, or its text. */
  readonly original: readonly string[] | string | undefined;
}

/** Rows that are contacts, one behind the other: those of a block from one on, up to another. */
export interface SourceRun {
  readonly block: ContactBlock;
  readonly from: number;
  readonly to: number;
}

/** What a list is read as. */
export type SourcePart = SourceRow | SourceRun;

/** A list whose beginning was read and found good. */
export interface SourceReader {
  /** Titles of the columns; undefined where each row names its own fields. */
  readonly titles: readonly string[] | undefined;
  /** Rows in the list's order, a few at a time. Nothing is read before it is asked for. */
  readonly rows: AsyncIterator<readonly SourcePart[], void>;
}

/** The longest row, in characters. A longer one is a quote that was never closed, or no list. */
export const MAX_ROW_LENGTH = 1_000_000;

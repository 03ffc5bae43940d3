import { unlessAborted } from '../../async/cancellation.ts';
import { NoticeQueueError } from '../../contracts/errors.ts';
import type { RowCheck } from './check-row.ts';
import type { SentColumns } from './sent-columns.ts';

/** The longest row, in characters. A longer one is an unclosed quote, or the file is not a list. */
export const MAX_ROW_LENGTH = 1_000_000;

/** The most digits of a number that a double holds exactly. */
export const MAX_EXACT_DIGITS = 15;

const BLOCK_CONTACTS = 1_000;
const BLOCK_BYTES = 256 * 1024;

/** One checked row of a list. */
export interface SourceRow {
  /** Its number as a spreadsheet counts rows, from 1 with that of the titles; for an iterable, the position from 1. */
  readonly row: number;
  /** Line of the text on which it starts: another one after cells with line breaks in them. */
  readonly line: number;
  readonly check: RowCheck;
  /** Input of a refused row: its cells, or its text. Undefined for a contact. */
  readonly original: readonly string[] | string | undefined;
}

/**
 * Valid rows in list order, as the bytes of the send request's body. Rows are stored in arrays and
 * not as objects or strings: that makes the import more than twice as fast.
 */
export class ContactBlock {
  /** JSON of the contacts; each starts with a comma. */
  readonly json = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  /** Offset at which the JSON of each contact ends. */
  readonly ends = new Uint32Array(BLOCK_CONTACTS);
  /** Phone number of each contact as a number; see {@link MAX_EXACT_DIGITS}. */
  readonly numbers = new Float64Array(BLOCK_CONTACTS);
  /** Digits of each phone number, leading zeros included. */
  readonly digits = new Uint8Array(BLOCK_CONTACTS);
  readonly rows = new Uint32Array(BLOCK_CONTACTS);
  count = 0;

  get length(): number {
    return this.count === 0 ? 0 : (this.ends[this.count - 1] ?? 0);
  }

  /** Whether one more contact of that many bytes fits. */
  hasRoom(bytes: number): boolean {
    return this.count < BLOCK_CONTACTS && this.length + bytes <= BLOCK_BYTES;
  }
}

/** The phone number of a contact of a block, with its leading zeros. */
export function numberOf({ numbers, digits }: ContactBlock, index: number): string {
  return String(numbers[index] ?? 0).padStart(digits[index] ?? 0, '0');
}

/** Bytes of the JSON of one contact of a block. */
export function contactBytes({ ends }: ContactBlock, index: number): number {
  return (ends[index] ?? 0) - (index === 0 ? 0 : (ends[index - 1] ?? 0));
}

/** Consecutive valid rows: the contacts of a block from index `from` up to, not including, `to`. */
export interface SourceRun {
  readonly block: ContactBlock;
  readonly from: number;
  readonly to: number;
  /** How many of them have no value for a variable, by its name; undefined for none. */
  readonly empty?: ReadonlyMap<string, number> | undefined;
}

export type SourcePart = SourceRow | SourceRun;

/** A list whose header (or first row) was read and is valid. */
export interface SourceReader {
  /** Titles of the columns; undefined where each row names its own fields (NDJSON, objects). */
  readonly titles: readonly string[] | undefined;
  /** Whether it is an export of contacts that were not accepted. */
  readonly isFailures?: boolean;
  /** Which columns are sent; of objects, those of the rows read so far. */
  columns(): SentColumns;
  /** Rows in list order, a few at a time. Nothing is read before it is requested. */
  readonly rows: AsyncIterator<readonly SourcePart[], void>;
}

/**
 * The next rows of a list; undefined after the last.
 *
 * @throws NoticeQueueError IMPORT_STOPPED as soon as the signal aborts, even while the source of the
 * list does not answer
 */
export async function nextRows(
  rows: SourceReader['rows'],
  signal: AbortSignal | undefined,
): Promise<readonly SourcePart[] | undefined> {
  const reading = rows.next();
  const next = await (signal === undefined ? reading : unlessAborted(reading, signal));
  if (next === undefined) throw new NoticeQueueError('IMPORT_STOPPED');
  return next.done === true ? undefined : next.value;
}

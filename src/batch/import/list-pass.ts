import type { NoticeQueueError } from '../../contracts/errors.ts';
import { countOf } from '../../format/format.ts';
import type { NumberPrints } from '../../number-index/number-prints.ts';
import {
  contactBytes,
  nextRows,
  type SourcePart,
  type SourceReader,
  type SourceRow,
} from '../source/source-row.ts';
import { ListDigest, RowProcessor } from './row-processor.ts';
import { RowTally } from './row-tally.ts';
import { invalidList } from '../source/describe-columns.ts';

/** A list that can be read only once is known by its head: so many rows, which are kept in memory. */
export const HEAD_ROWS = 1_000;

/** Of long rows, no more than so many bytes: one row may have a million characters. */
const HEAD_BYTES = 8 * 1024 * 1024;

export interface FirstPass {
  readonly tally: RowTally;
  /** Digest of the list, or of its head. */
  readonly identity: string;
  /** Whether it is that of the whole list. */
  readonly isWhole: boolean;
  readonly contacts: number;
  /** The rows that were read, where they cannot be read again. */
  readonly parts: readonly SourcePart[];
  /** Whether it is an export of contacts that were not accepted. */
  readonly isFailures: boolean;
}

interface PassOptions {
  readonly digest: ListDigest;
  readonly prints: NumberPrints | undefined;
  readonly allowDuplicates: boolean;
  readonly signal: AbortSignal | undefined;
}

/**
 * Reads a whole list, which can be read again. @throws NoticeQueueError SOURCE_INVALID, also for a list without rows
 */
export async function readWhole(reader: SourceReader, options: PassOptions): Promise<FirstPass> {
  const { digest, signal } = options;
  const { tally, processor } = checker(options);
  try {
    for await (const parts of rowsOf(reader, signal)) await processor.process(parts);
  } finally {
    abandon(reader);
  }
  if (tally.rows === 0) throw noContacts();
  return firstPass(reader, tally, digest, true, []);
}

/**
 * Reads the head of a list that can be read only once.
 *
 * @throws NoticeQueueError SOURCE_INVALID, also if all rows of the head are refused: without a contact the list would
 * not be recognised when it is imported again
 */
export async function readHead(reader: SourceReader, options: PassOptions): Promise<FirstPass> {
  const { digest, signal } = options;
  const { tally, processor } = checker({ ...options, digest: new ListDigest('', '') });
  const parts: SourcePart[] = [];
  let [left, bytes] = [HEAD_ROWS, HEAD_BYTES];
  const isWhole = () => left > 0 && bytes > 0;
  while (isWhole()) {
    const next = await nextRows(reader.rows, signal);
    if (next === undefined) break;
    parts.push(...next);
    // Decided row by row: the head is the same wherever the pieces of the text end.
    for (const part of next) {
      if ('block' in part) {
        let end = part.from;
        for (; end < part.to && isWhole(); end++, left--) bytes -= contactBytes(part.block, end);
        digest.addRun(part.block, part.from, end);
      } else if (isWhole()) {
        digest.addPart(part);
        bytes -= rowBytes(part);
        left--;
      }
    }
  }
  if (parts.length === 0) throw noContacts();
  await processor.process(parts);
  const isRefused = !isWhole() || tally.whyImplausible() === undefined;
  if (digest.contacts === 0 && isRefused) throw allRefused(parts, isWhole());
  return firstPass(reader, tally, digest, isWhole(), parts);
}

/** Bytes of a contact's JSON, with the comma before it as in a block, or of a refused row. */
function rowBytes({ check, original = '' }: SourceRow): number {
  if (check.kind === 'contact') return Buffer.byteLength(check.json) + 1;
  return Buffer.byteLength(typeof original === 'string' ? original : original.join(','));
}

function checker({ digest, prints, allowDuplicates }: Omit<PassOptions, 'signal'>) {
  const tally = new RowTally();
  const processor = new RowProcessor({ tally, digest, allowDuplicates, prints });
  return { tally, processor };
}

function firstPass(
  { isFailures = false }: SourceReader,
  tally: RowTally,
  digest: ListDigest,
  isWhole: boolean,
  parts: readonly SourcePart[],
): FirstPass {
  const { contacts } = digest;
  return { tally, identity: digest.content(), isWhole, contacts, parts, isFailures };
}

/** All rows of a list, those that were read before included. */
export async function* rowsOf(
  { rows }: SourceReader,
  signal: AbortSignal | undefined,
  before: readonly SourcePart[] = [],
): AsyncGenerator<readonly SourcePart[], void> {
  if (before.length > 0) yield before;
  for (;;) {
    const next = await nextRows(rows, signal);
    if (next === undefined) return;
    yield next;
  }
}

/** Digest of all rows, those that were read before included. */
export async function digestOf(
  reader: SourceReader,
  digest: ListDigest,
  signal: AbortSignal | undefined,
  before: readonly SourcePart[],
): Promise<string> {
  for await (const parts of rowsOf(reader, signal, before)) {
    for (const part of parts) digest.addPart(part);
  }
  return digest.content();
}

/** Ends reading. Not awaited: a source that does not answer would block here. */
export function abandon({ rows }: SourceReader): void {
  void rows.return?.().catch(() => {});
}

export const noContacts = () => invalidList('The list contains no contacts.');

function allRefused(parts: readonly SourcePart[], isWhole: boolean): NoticeQueueError {
  const [part] = parts;
  const why =
    part !== undefined && 'check' in part && part.check.kind === 'refused'
      ? `: row ${part.row}: ${part.check.reason}`
      : '';
  const which = isWhole ? 'rows of the list' : `first ${countOf(parts.length, 'row')}`;
  return invalidList(`The ${which} are all rejected${why}.`);
}

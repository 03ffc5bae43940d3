import type { NoticeQueueError } from '../../contracts/errors.ts';
import { countOf } from '../../format/format.ts';
import type { NumberPrints } from '../../number-index/number-prints.ts';
import { nextRows, type SourcePart, type SourceReader } from '../source/source-row.ts';
import { ListDigest } from './list-digest.ts';
import { RowProcessor } from './row-processor.ts';
import { RowTally } from './row-tally.ts';
import { invalidList } from '../source/describe-columns.ts';

/** A list that can be read only once is known by its head: so many contacts, or so many bytes of their JSON. */
export const HEAD_CONTACTS = 1_000;
const HEAD_BYTES = 1024 * 1024;
/** The head also ends after so many characters of refused rows, which are kept in memory with it. */
const HEAD_REFUSED_LENGTH = 8 * 1024 * 1024;

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
 * @throws NoticeQueueError SOURCE_INVALID, also if the list begins with too many refused rows: without a contact it
 * would not be recognised when it is imported again
 */
export async function readHead(reader: SourceReader, options: PassOptions): Promise<FirstPass> {
  const { digest, prints, signal } = options;
  const { tally, processor } = checker({ ...options, digest: new ListDigest('', ''), prints });
  const parts: SourcePart[] = [];
  let refusedLength = 0;
  // Decided row by row: the head is the same wherever the pieces of the text end.
  const isFull = () =>
    digest.contacts >= HEAD_CONTACTS ||
    digest.bytes >= HEAD_BYTES ||
    refusedLength >= HEAD_REFUSED_LENGTH;
  while (!isFull()) {
    const next = await nextRows(reader.rows, signal);
    if (next === undefined) break;
    parts.push(...next);
    for (const part of next) {
      if (isFull()) break;
      if ('block' in part) {
        for (let at = part.from; at < part.to && !isFull(); at++) {
          digest.addRun(part.block, at, at + 1);
        }
        continue;
      }
      digest.addPart(part);
      refusedLength += lengthOf(part.original);
    }
  }
  if (parts.length === 0) throw noContacts();
  if (isFull() && digest.contacts === 0) throw allRefused(parts);
  await processor.process(parts);
  return firstPass(reader, tally, digest, !isFull(), parts);
}

function checker({ digest, prints, allowDuplicates }: Omit<PassOptions, 'signal'>) {
  const tally = new RowTally();
  const rest = { writer: undefined, rejects: undefined, chunkSize: Infinity };
  const processor = new RowProcessor({ tally, digest, allowDuplicates, prints, ...rest });
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

/** Ends reading. Not awaited: a source that does not answer would block here. */
export function abandon({ rows }: SourceReader): void {
  void rows.return?.().catch(() => {});
}

export const noContacts = () => invalidList('The list contains no contacts.');

function allRefused(parts: readonly SourcePart[]): NoticeQueueError {
  const [first] = parts;
  const why =
    first !== undefined && 'check' in first && first.check.kind === 'refused'
      ? `: row ${first.row}: ${first.check.reason}`
      : '';
  return invalidList(`The first ${countOf(parts.length, 'row')} are all rejected${why}.`);
}

function lengthOf(original: readonly string[] | string | undefined): number {
  if (typeof original === 'object') return original.reduce((sum, cell) => sum + cell.length, 0);
  return original?.length ?? 0;
}

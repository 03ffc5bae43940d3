import { NoticeQueueError } from '../../contracts/errors.ts';
import type { NumberPrints } from '../../number-index/number-prints.ts';
import type { OpenSource } from '../source/open-source.ts';
import { nextRows, type SourcePart, type SourceReader } from '../source/source-row.ts';
import type { CheckedImportOptions } from './import-options.ts';
import { ListDigest, readHead, type ListHead } from './list-digest.ts';
import { RowProcessor, RowTally } from './row-processor.ts';

interface KnownList {
  /** Digest of the whole list, if it was read before. */
  readonly content: string | undefined;
  readonly signal: AbortSignal | undefined;
}

/** A list whose head was read, to find out whether it was imported before. */
export class OpenedList {
  readonly head: ListHead;
  readonly #digest: ListDigest;
  readonly #content: string | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #reader: SourceReader;

  private constructor(
    { reader, head, digest }: { reader: SourceReader; head: ListHead; digest: ListDigest },
    { content, signal }: KnownList,
  ) {
    this.#reader = reader;
    this.head = head;
    this.#digest = digest;
    this.#content = content;
    this.#signal = signal;
  }

  /**
   * Reads the head.
   *
   * @param frame and `secret`: see {@link ListDigest}
   * @throws NoticeQueueError SOURCE_INVALID for an invalid header or first row, or an empty list
   */
  static async read(
    list: OpenSource,
    frame: string,
    secret: string,
    options: KnownList,
  ): Promise<OpenedList> {
    const reader = await list.read();
    const digest = new ListDigest(frame, secret);
    try {
      const head = await readHead(reader.rows, digest, options.signal);
      if (head === undefined) {
        throw new NoticeQueueError('SOURCE_INVALID', 'The list contains no contacts.');
      }
      return new OpenedList({ reader, head, digest }, options);
    } catch (error) {
      abandon(reader);
      throw error;
    }
  }

  /** Titles of the columns; undefined for a list of objects. */
  get titles(): readonly string[] | undefined {
    return this.#reader.titles;
  }

  /** Whether it is an export of contacts that were not accepted. */
  get isFailures(): boolean {
    return this.#reader.isFailures ?? false;
  }

  /** Which columns are sent; of objects, those of the rows read so far. */
  columns() {
    return this.#reader.columns();
  }

  /** Digest of the whole list, if it is known before all of it is read. */
  get knownContent(): string | undefined {
    return this.head.complete ? this.head.identity : this.#content;
  }

  /** The same; reads the list to its end if it must. Then it has no more {@link rows}. */
  async content(): Promise<string> {
    if (this.knownContent !== undefined) return this.knownContent;
    for (;;) {
      const rows = await nextRows(this.#reader.rows, this.#signal);
      if (rows === undefined) return this.#digest.content();
      for (const part of rows) this.#digest.addPart(part);
    }
  }

  /** All rows, those of the head included. */
  async *rows(): AsyncGenerator<readonly SourcePart[], void> {
    yield this.head.parts;
    for (;;) {
      const rows = await nextRows(this.#reader.rows, this.#signal);
      if (rows === undefined) return;
      yield rows;
    }
  }

  /**
   * Ends reading, wherever it is: an iterable of the caller may hold a connection until it is ended. Not awaited: a
   * source that does not answer would block here.
   */
  abandon(): void {
    abandon(this.#reader);
  }
}

function abandon({ rows }: SourceReader): void {
  void rows.return?.().catch(() => {});
}

/** What is known of a list before anything of it is stored. */
export interface ListCheck {
  readonly tally: RowTally;
  /** Digest of the whole list; '' if it has no contacts. */
  readonly content: string;
  /** Whether it is an export of contacts that were not accepted. */
  readonly isFailures: boolean;
}

/** Reads a whole list, which can be read again. @throws NoticeQueueError SOURCE_INVALID */
export async function checkList(
  list: OpenSource,
  digest: ListDigest,
  prints: NumberPrints | undefined,
  { allowDuplicates, signal }: Pick<CheckedImportOptions, 'allowDuplicates' | 'signal'>,
): Promise<ListCheck> {
  const tally = new RowTally();
  const rest = { writer: undefined, rejects: undefined, chunkSize: Infinity };
  const processor = new RowProcessor({ tally, digest, allowDuplicates, prints, ...rest });
  const { rows, isFailures = false } = await list.read();
  try {
    for (;;) {
      const parts = await nextRows(rows, signal);
      if (parts === undefined) break;
      await processor.process(parts);
    }
  } finally {
    void rows.return?.().catch(() => {});
  }
  return { tally, content: digest.contacts === 0 ? '' : digest.content(), isFailures };
}

/** Checks the first rows of a list that can be read only once. */
export async function checkHead(
  { head, isFailures }: OpenedList,
  digest: ListDigest,
  prints: NumberPrints | undefined,
): Promise<ListCheck> {
  const tally = new RowTally();
  const rest = { writer: undefined, rejects: undefined, chunkSize: Infinity };
  const processor = new RowProcessor({ tally, digest, allowDuplicates: false, prints, ...rest });
  await processor.process(head.parts);
  return { tally, content: '', isFailures };
}

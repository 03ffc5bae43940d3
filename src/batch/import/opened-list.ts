import { NoticeQueueError } from '../../contracts/errors.ts';
import type { OpenSource } from '../source/open-source.ts';
import { nextRows, type SourcePart, type SourceReader } from '../source/source-row.ts';
import { ListDigest, readHead, type ListHead } from './list-digest.ts';

/** A list whose head was read, to find out whether it was imported before. */
export class OpenedList {
  readonly head: ListHead;
  readonly #list: OpenSource;
  readonly #digest: ListDigest;
  readonly #signal: AbortSignal | undefined;
  #reader: SourceReader;
  #isRead = false;

  private constructor(
    list: OpenSource,
    { reader, head, digest }: { reader: SourceReader; head: ListHead; digest: ListDigest },
    signal: AbortSignal | undefined,
  ) {
    this.#list = list;
    this.#reader = reader;
    this.head = head;
    this.#digest = digest;
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
    signal: AbortSignal | undefined,
  ): Promise<OpenedList> {
    const reader = await list.read();
    const digest = new ListDigest(frame, secret);
    try {
      const head = await readHead(reader.rows, digest, signal);
      if (head === undefined) {
        throw new NoticeQueueError('SOURCE_INVALID', 'The list contains no contacts.');
      }
      return new OpenedList(list, { reader, head, digest }, signal);
    } catch (error) {
      abandon(reader);
      throw error;
    }
  }

  /** Whether {@link rows} can be called after {@link content}. */
  get canReread(): boolean {
    return this.#list.canReread;
  }

  /** Titles of the columns; undefined for a list of objects. */
  get titles(): readonly string[] | undefined {
    return this.#reader.titles;
  }

  /** Which columns are sent; of objects, those of the rows read so far. */
  columns() {
    return this.#reader.columns();
  }

  /** Reads the list to its end. @returns digest of the whole list */
  async content(): Promise<string> {
    while (!this.#isRead) {
      const rows = await nextRows(this.#reader.rows, this.#signal);
      for (const part of rows ?? []) this.#digest.addPart(part);
      this.#isRead = rows === undefined;
    }
    return this.#digest.content();
  }

  /** All rows, those of the head included. */
  async *rows(): AsyncGenerator<readonly SourcePart[], void> {
    if (this.#isRead) this.#reader = await this.#list.read();
    else yield this.head.parts;
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

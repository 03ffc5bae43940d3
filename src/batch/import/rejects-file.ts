import { constants } from 'node:fs';
import { access, open, stat, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { NoticeQueueError } from '../../contracts/errors.ts';
import type { RowRefusal } from '../source/check-row.ts';
import { csvLine } from '../failures/csv-line.ts';

/** Characters that are buffered before they are written. */
const WRITE_AT = 64 * 1024;

/**
 * The file of refused rows, for the person who corrects them. It is created with the first refused
 * row, readable only by its owner. For a CSV list it is a CSV file with four added columns before those
 * of the list; for objects it is NDJSON with the same four fields. Both can be imported again without
 * changes to their structure: an import ignores fields that start with `rejected_`.
 */
export class RejectsFile {
  /** Path of the file, whether or not it exists yet. */
  readonly path: string;
  readonly #titles: readonly string[] | undefined;
  #file: FileHandle | undefined;
  #text = '';

  private constructor(file: string, titles: readonly string[] | undefined) {
    this.path = file;
    this.#titles = titles;
  }

  /**
   * Checks that the file can be written, without writing.
   *
   * @param titles titles of the list's columns; undefined for a list of objects
   * @throws NoticeQueueError REJECTS_UNWRITABLE
   */
  static async prepare(file: string, titles: readonly string[] | undefined): Promise<RejectsFile> {
    try {
      const found = await stat(file).catch(() => undefined);
      if (found?.isDirectory() === true) throw new Error('EISDIR');
      await access(found === undefined ? path.dirname(path.resolve(file)) : file, constants.W_OK);
    } catch (error) {
      throw unwritable(file, error);
    }
    return new RejectsFile(file, titles);
  }

  /** Adds a refused row. @throws NoticeQueueError REJECTS_UNWRITABLE */
  async add(
    line: number,
    { field, value, reason }: RowRefusal,
    original: readonly string[] | string | undefined,
  ): Promise<void> {
    const isFirst = this.#text === '' && this.#file === undefined;
    this.#text +=
      this.#titles === undefined
        ? objectLine(line, field, value, reason, original)
        : (isFirst ? csvLine([...HEAD, ...this.#titles]) : '') +
          csvLine([
            String(line),
            field,
            value,
            reason,
            ...(typeof original === 'object' ? original : []),
          ]);
    if (this.#text.length >= WRITE_AT) await this.#flush();
  }

  /**
   * Writes the buffered rows and closes the file.
   *
   * @returns whether the file exists: there was at least one refused row
   */
  async end(): Promise<boolean> {
    try {
      if (this.#text !== '') await this.#flush();
      return this.#file !== undefined;
    } finally {
      await this.#close();
    }
  }

  /** Closes the file after a failure elsewhere. Never throws. */
  async abandon(): Promise<void> {
    await this.end().catch(() => {});
  }

  async #close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    try {
      await file?.close();
    } catch (error) {
      throw unwritable(this.path, error);
    }
  }

  async #flush(): Promise<void> {
    const text = this.#text;
    this.#text = '';
    try {
      this.#file ??= await open(this.path, 'w', 0o600);
      await this.#file.writeFile(text);
    } catch (error) {
      throw unwritable(this.path, error);
    }
  }
}

const HEAD = ['rejected_line', 'rejected_field', 'rejected_value', 'rejected_reason'];

function objectLine(
  line: number,
  field: string,
  value: string,
  reason: string,
  original: readonly string[] | string | undefined,
): string {
  const text = typeof original === 'string' ? original : '';
  let fields: unknown;
  try {
    fields = JSON.parse(text);
  } catch {
    fields = undefined;
  }
  const isObject = typeof fields === 'object' && fields !== null && !Array.isArray(fields);
  const added = {
    rejected_line: line,
    rejected_field: field,
    rejected_value: value,
    rejected_reason: reason,
    ...(isObject ? {} : { rejected_text: text }),
  };
  const rest = isObject ? JSON.stringify(fields).slice(1) : '}';
  return `${JSON.stringify(added).slice(0, -1)}${rest === '}' ? rest : `,${rest}`}\n`;
}

function unwritable(file: string, error: unknown): NoticeQueueError {
  if (error instanceof NoticeQueueError) return error;
  const { code, message } = error as { code?: unknown; message?: unknown };
  return new NoticeQueueError(
    'REJECTS_UNWRITABLE',
    `The file of refused rows, ${file}, cannot be written (${String(code ?? message)}).`,
  );
}

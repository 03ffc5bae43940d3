import { createHash } from 'node:crypto';
import { constants, createReadStream, type Stats } from 'node:fs';
import {
  access,
  copyFile,
  link,
  lstat,
  open,
  rename,
  rm,
  stat,
  type FileHandle,
} from 'node:fs/promises';
import path from 'node:path';
import { NoticeQueueError } from '../../contracts/errors.ts';
import type { RowRefusal } from '../source/check-row.ts';
import { usualDelimiter } from '../source/read-csv.ts';
import type { CheckedImportOptions } from './import-options.ts';
import { BYTE_ORDER_MARK, csvLine } from '../failures/csv-line.ts';

const WRITE_AT = 64 * 1024;

/**
 * The file of refused rows, for the person who corrects them, created with the first one ({@link NewFile}): CSV with
 * four added columns before those of the list or, for objects, NDJSON with these fields. It can be imported as it is,
 * and so can the file of what is then refused: an import ignores fields that start with `rejected_`, and their new
 * values replace those of the round before.
 */
export class RejectsFile {
  readonly #path: string;
  readonly #isCsv: boolean;
  readonly #delimiter: string;
  readonly #head: string;
  readonly #overwrite: boolean;
  #file: NewFile | undefined;
  #text = '';

  private constructor(
    file: string,
    titles: readonly string[] | undefined,
    { overwriteRejects, encoding, delimiter = usualDelimiter(file) }: CheckedImportOptions,
  ) {
    this.#path = file;
    this.#isCsv = titles !== undefined;
    // Of the list: both are read with the same options.
    this.#delimiter = delimiter;
    // Also as NDJSON where the list is read in another encoding: the file is UTF-8.
    this.#head = encoding !== 'utf-8' || this.#isCsv ? BYTE_ORDER_MARK : '';
    if (titles !== undefined) this.#head += csvLine([...HEAD, ...titles], delimiter);
    this.#overwrite = overwriteRejects;
  }

  /**
   * The file of a list's refused rows; undefined for a list that is no file, unless the options name one.
   *
   * @param titles of the list's columns; undefined for a list of objects
   * @throws NoticeQueueError REJECTS_UNWRITABLE if it cannot be written, or is the list itself under another name
   */
  static async prepare(
    list: string | undefined,
    titles: readonly string[] | undefined,
    options: CheckedImportOptions,
  ): Promise<RejectsFile | undefined> {
    const ending = titles === undefined ? 'ndjson' : 'csv';
    const file = options.rejectsFile ?? (list && `${list}.rejected.${ending}`);
    if (file === undefined) return undefined;
    try {
      await access(path.dirname(path.resolve(file)), constants.W_OK);
      const found = await stat(file).catch(() => undefined);
      if (found?.isFile() === false) throw new Error('it is not a regular file');
      const ofList = list === undefined ? undefined : await stat(list);
      const isList = (one: Stats | undefined) =>
        one !== undefined && one.ino === ofList?.ino && one.dev === ofList.dev;
      // What has the name of the unfinished file is removed.
      const part = await lstat(partOf(file)).catch(() => undefined);
      if (isList(found) || isList(part)) {
        throw new NoticeQueueError('REJECTS_UNWRITABLE', `${file} is the list itself.`);
      }
    } catch (error) {
      throw unwritable(file, error);
    }
    return new RejectsFile(file, titles, options);
  }

  async add(
    row: number,
    line: number,
    { field, value, reason: why }: RowRefusal,
    original: readonly string[] | string | undefined,
  ): Promise<void> {
    const reason = row === line ? why : `${why} (line ${line} of the text)`;
    if (this.#text === '' && this.#file === undefined) this.#text = this.#head;
    this.#text += this.#isCsv
      ? csvLine(
          [String(row), field, value, reason, ...(typeof original === 'object' ? original : [])],
          this.#delimiter,
        )
      : objectLine(row, field, value, reason, original);
    if (this.#text.length >= WRITE_AT) await this.#flush();
  }

  /** Gives the file its name. @returns its path; undefined if there was no refused row @throws NoticeQueueError */
  async end(): Promise<string | undefined> {
    if (this.#text !== '') await this.#flush();
    const file = this.#file;
    this.#file = undefined;
    try {
      return await file?.complete(this.#overwrite);
    } catch (error) {
      throw unwritable(this.#path, error);
    }
  }

  /** After a failure: removes what was written; a part of the rows would be taken for all of them. Never throws. */
  async abandon(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    this.#text = '';
    await file?.discard().catch(() => {});
  }

  async #flush(): Promise<void> {
    const text = this.#text;
    this.#text = '';
    try {
      this.#file ??= await NewFile.create(this.#path);
      await this.#file.write(text);
    } catch (error) {
      throw unwritable(this.#path, error);
    }
  }
}

const HEAD = ['rejected_row', 'rejected_field', 'rejected_value', 'rejected_reason'];

function objectLine(
  row: number,
  field: string,
  value: string,
  reason: string,
  original: readonly string[] | string | undefined,
): string {
  const text = typeof original === 'string' ? original.trim() : '';
  const added = JSON.stringify({
    rejected_row: row,
    rejected_field: field,
    rejected_value: value,
    rejected_reason: reason,
    ...(isObject(text) ? {} : { rejected_text: text }),
  });
  if (!isObject(text)) return `${added}\n`;
  // Spliced as text: a row that is nested too deeply cannot be written as a value.
  const rest = text.replace(ADDED_BEFORE, '');
  return `${added.slice(0, -1)}${rest === '}' ? '' : ','}${rest}\n`;
}

/** The start of an object, with the fields that were added in the round before. */
const ADDED_BEFORE = /^\{\s*(?:"rejected_\w+"\s*:\s*(?:"(?:[^"\\]|\\.)*"|\d+)\s*(?:,\s*|(?=\})))*/;

function isObject(text: string): boolean {
  try {
    return text.startsWith('{') && typeof JSON.parse(text) === 'object';
  } catch {
    return false;
  }
}

function unwritable(file: string, error: unknown): NoticeQueueError {
  if (error instanceof NoticeQueueError) return error;
  const { code, message } = error as { code?: unknown; message?: unknown };
  return new NoticeQueueError(
    'REJECTS_UNWRITABLE',
    `The file of refused rows, ${file}, cannot be written (${String(code ?? message)}).`,
  );
}

/** More names are not tried: something else is wrong. */
const MAX_NAMES = 1_000;

/**
 * A file with personal data that is written as FILE.part and gets its name when it is complete. It is always a new
 * file, readable only by its owner: nothing is written through a link that lies there. If there is another FILE, which
 * may contain someone's work, it becomes FILE-2, FILE-3, ... unless that is to be replaced.
 */
export class NewFile {
  readonly #target: string;
  readonly #part: string;
  readonly #handle: FileHandle;
  readonly #digest = createHash('sha256');

  private constructor(target: string, handle: FileHandle) {
    this.#target = target;
    this.#part = partOf(target);
    this.#handle = handle;
  }

  /** Removes a rest of an earlier run. @throws NodeJS.ErrnoException */
  static async create(target: string): Promise<NewFile> {
    await rm(partOf(target), { force: true });
    return new NewFile(target, await open(partOf(target), 'wx', 0o600));
  }

  /** @throws NodeJS.ErrnoException */
  async write(text: string): Promise<void> {
    this.#digest.update(text);
    await this.#handle.writeFile(text);
  }

  /**
   * Gives the file its name and closes it.
   *
   * @param overwrite replace whatever has the name
   * @returns the name it got
   * @throws NodeJS.ErrnoException
   */
  async complete(overwrite: boolean): Promise<string> {
    return this.#end(async () => {
      if (!overwrite) return this.#takeFreeName();
      await rename(this.#part, this.#target);
      return this.#target;
    });
  }

  /** Closes the file and removes it. @throws NodeJS.ErrnoException */
  async discard(): Promise<void> {
    await this.#end(() => Promise.resolve());
  }

  async #end<Result>(finish: () => Promise<Result>): Promise<Result> {
    try {
      // Another import of the same list may have taken the name meanwhile.
      const [own, found] = await Promise.all([this.#handle.stat(), lstat(this.#part)]);
      if (own.ino !== found.ino || own.dev !== found.dev) {
        throw Object.assign(new Error('another process writes this file'), { code: 'EBUSY' });
      }
      const result = await finish();
      await rm(this.#part, { force: true });
      return result;
    } finally {
      await this.#handle.close();
    }
  }

  async #takeFreeName(): Promise<string> {
    const digest = this.#digest.digest('hex');
    const { dir, name, ext } = path.parse(this.#target);
    for (let number = 1; number <= MAX_NAMES; number += 1) {
      const free = number === 1 ? this.#target : path.join(dir, `${name}-${number}${ext}`);
      try {
        await linkOrCopy(this.#part, free);
        return free;
      } catch (error) {
        if ((error as { code?: unknown }).code !== 'EEXIST') throw error;
      }
      if ((await digestOf(free)) === digest) return free;
    }
    throw Object.assign(new Error('no free name'), { code: 'EEXIST' });
  }
}

/** The name of a {@link NewFile} until it is complete. */
export const partOf = (target: string): string => `${target}.part`;

/** A link gives a file its name at once. @throws NodeJS.ErrnoException EEXIST where there is one of that name */
async function linkOrCopy(part: string, free: string): Promise<void> {
  await link(part, free).catch(async (error: unknown) => {
    if ((error as { code?: unknown }).code === 'EEXIST') throw error;
    // Some file systems have no links.
    await copyFile(part, free, constants.COPYFILE_EXCL);
  });
}

/** Undefined for what is not a file of its own: a link, a folder. */
async function digestOf(file: string): Promise<string | undefined> {
  if (!(await lstat(file)).isFile()) return undefined;
  const digest = createHash('sha256');
  for await (const piece of createReadStream(file)) digest.update(piece as Buffer);
  return digest.digest('hex');
}

import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { copyFile, link, lstat, open, rename, rm, type FileHandle } from 'node:fs/promises';
import path from 'node:path';

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

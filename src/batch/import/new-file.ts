import { createHash } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { copyFile, link, lstat, open, rename, rm, stat, type FileHandle } from 'node:fs/promises';
import path from 'node:path';

/** More names are not tried: something else is wrong. */
const MAX_NAMES = 1_000;

/**
 * A file with personal data that is written under a name of its own and gets its name when it is complete. It
 * is always a new file, readable only by its owner: nothing is written through a link that lies there.
 *
 * - (nothing) -> FILE.part: created exclusively; a rest of an earlier run is removed.
 * - FILE.part -> FILE: if there is no FILE, or one with the same content, or `overwrite` is set.
 * - FILE.part -> FILE-2, FILE-3, ...: if there is another FILE; it may contain someone's work.
 * - FILE.part -> (nothing): if it is discarded, because what was to be written did not come to its end.
 *
 * A FILE that is a device or a pipe is written to directly, but not through a link ({@link isDevice}).
 */
export class NewFile {
  readonly #target: string;
  readonly #part: string;
  readonly #handle: FileHandle;
  readonly #isDevice: boolean;
  readonly #digest = createHash('sha256');

  private constructor(target: string, handle: FileHandle, isDevice: boolean) {
    this.#target = target;
    this.#part = partOf(target);
    this.#handle = handle;
    this.#isDevice = isDevice;
  }

  /** @throws NodeJS.ErrnoException */
  static async create(target: string): Promise<NewFile> {
    if (await isDevice(target)) {
      const follow = isOfSystem(target) ? 0 : constants.O_NOFOLLOW;
      return new NewFile(target, await open(target, constants.O_WRONLY | follow), true);
    }
    await rm(partOf(target), { force: true });
    return new NewFile(target, await open(partOf(target), 'wx', 0o600), false);
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
    try {
      if (this.#isDevice) return this.#target;
      await this.#requireOwn();
      const name = overwrite ? await this.#replace() : await this.#takeFreeName();
      await rm(this.#part, { force: true });
      return name;
    } finally {
      await this.#handle.close();
    }
  }

  /** Closes the file and removes it. @throws NodeJS.ErrnoException */
  async discard(): Promise<void> {
    try {
      if (this.#isDevice) return;
      await this.#requireOwn();
      await rm(this.#part, { force: true });
    } finally {
      await this.#handle.close();
    }
  }

  /** Another import of the same list may have taken the name meanwhile. */
  async #requireOwn(): Promise<void> {
    const [own, found] = await Promise.all([this.#handle.stat(), lstat(this.#part)]);
    if (own.ino !== found.ino || own.dev !== found.dev) {
      throw Object.assign(new Error('another process writes this file'), { code: 'EBUSY' });
    }
  }

  async #replace(): Promise<string> {
    await rename(this.#part, this.#target);
    return this.#target;
  }

  async #takeFreeName(): Promise<string> {
    const digest = this.#digest.digest('hex');
    const { dir, name, ext } = path.parse(this.#target);
    for (let number = 1; number <= MAX_NAMES; number += 1) {
      const free = number === 1 ? this.#target : path.join(dir, `${name}-${number}${ext}`);
      if (await linkNew(this.#part, free)) return free;
      if ((await digestOf(free)) === digest) return free;
    }
    throw Object.assign(new Error('no free name'), { code: 'EEXIST' });
  }
}

/**
 * Whether a path leads to a device or a pipe. A link to one is refused: who may write in the folder could plant it,
 * and read the rows at its other end. Links of the system, such as /dev/stdout, are followed.
 *
 * @throws Error for a folder and for a refused link
 */
export async function isDevice(target: string): Promise<boolean> {
  const found = await stat(target).catch(() => undefined);
  if (found === undefined || found.isFile()) return false;
  if (found.isDirectory()) throw new Error('EISDIR');
  if (!isOfSystem(target) && (await lstat(target)).isSymbolicLink()) {
    throw new Error('it is a link to a device or a pipe: name that itself');
  }
  return true;
}

const isOfSystem = (target: string): boolean => path.resolve(target).startsWith('/dev/');

/** The name of a {@link NewFile} until it is complete. */
export const partOf = (target: string): string => `${target}.part`;

/** Gives a file a second name; false if that exists. Where there are no hard links, it is copied. */
async function linkNew(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to).catch((error: unknown) => {
      if (codeOf(error) === 'EEXIST') throw error;
      return copyFile(from, to, constants.COPYFILE_EXCL);
    });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Undefined for what is not a file of its own: a link, a folder. */
async function digestOf(file: string): Promise<string | undefined> {
  const found = await lstat(file);
  if (!found.isFile()) return undefined;
  const digest = createHash('sha256');
  for await (const piece of createReadStream(file)) digest.update(piece as Buffer);
  return digest.digest('hex');
}

const codeOf = (error: unknown): unknown => (error as { code?: unknown }).code;

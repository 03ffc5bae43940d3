import { randomUUID } from 'node:crypto';
import { open, readFile, rename, rm } from 'node:fs/promises';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { EpochMemory } from '../../src/fleet/restore/epoch.ts';

const stateSchema = z.object({
  v: z.literal(1),
  /** Prefix and account of the queue: one file remembers one queue. */
  queue: z.string(),
  epoch: z.object({
    id: z.string().min(1),
    bornAt: z.number(),
    beats: z.int().min(0),
    at: z.number(),
    server: z.string(),
    event: z.string(),
  }),
});

/**
 * Remembers the epoch over restarts, in a file that is replaced as a whole (STATE_FILE). Processes of
 * one machine may share it: whichever wrote last remembers enough. A file that cannot be read or
 * written is said once and costs nothing else.
 */
export class StateFile {
  readonly #path: string;
  readonly #queue: string;
  readonly #log: Logger;
  #usable = true;
  #troubled = false;

  /** @param queue names the queue the file is about */
  constructor(path: string, queue: string, log: Logger) {
    this.#path = path;
    this.#queue = queue;
    this.#log = log;
  }

  /** What was remembered last; undefined where there is nothing yet, or nothing that can be read. */
  async read(): Promise<EpochMemory | undefined> {
    let text: string;
    try {
      text = await readFile(this.#path, 'utf8');
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') this.#say(codeOf(error));
      return undefined;
    }
    const state = stateSchema.safeParse(parsed(text)).data;
    if (state === undefined) {
      this.#say('not a state file; it will be replaced');
      return undefined;
    }
    if (state.queue !== this.#queue) {
      this.#usable = false;
      this.#say(`it is about another queue (${state.queue}), so it is left alone`);
      return undefined;
    }
    return { ...state.epoch, by: 'file' };
  }

  /** Resolves also where it could not be written. */
  async write({ id, bornAt, beats, at, server, event }: EpochMemory): Promise<void> {
    if (!this.#usable) return;
    const epoch = { id, bornAt, beats, at, server, event };
    const text = JSON.stringify({ v: 1, queue: this.#queue, epoch });
    const temporary = `${this.#path}.${randomUUID().slice(0, 8)}`;
    try {
      const file = await open(temporary, 'wx', 0o600);
      try {
        await file.writeFile(`${text}\n`);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(temporary, this.#path);
      this.#troubled = false;
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => {});
      this.#say(codeOf(error));
    }
  }

  #say(reason: string): void {
    if (this.#troubled) return;
    this.#troubled = true;
    this.#log.warn({ event: 'state-file-trouble', reason }, 'STATE_FILE does not remember');
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : 'unknown error';
}

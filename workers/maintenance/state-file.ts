import { randomUUID } from 'node:crypto';
import { open, readFile, rename, rm } from 'node:fs/promises';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Term } from '../../src/fleet/restore/epoch.ts';

const stateSchema = z.object({
  v: z.literal(1),
  /** Prefix and account: one file is for one queue. */
  queue: z.string(),
  epoch: z.object({
    id: z.string().min(1),
    bornAt: z.number(),
    beats: z.int().min(0),
    at: z.number(),
  }),
});

/**
 * Stores the epoch across restarts, in a file that is replaced atomically (STATE_FILE). The processes of
 * one machine may share it; the last write is enough. A file that cannot be read or written is logged once
 * and has no other effect.
 */
export class StateFile {
  readonly #path: string;
  readonly #queue: string;
  readonly #log: Logger;
  #usable = true;
  #failed = false;

  /** @param queue name of the queue that the file is for */
  constructor(path: string, queue: string, log: Logger) {
    this.#path = path;
    this.#queue = queue;
    this.#log = log;
  }

  /** What was stored last; undefined when there is nothing readable. */
  async read(): Promise<Term | undefined> {
    let state: z.output<typeof stateSchema>;
    try {
      state = stateSchema.parse(JSON.parse(await readFile(this.#path, 'utf8')));
    } catch (error) {
      const code = codeOf(error);
      if (code === undefined) this.#warn('not a state file; it will be replaced');
      else if (code !== 'ENOENT') this.#warn(code);
      return undefined;
    }
    if (state.queue !== this.#queue) {
      this.#usable = false;
      this.#warn(`it belongs to another queue (${state.queue}) and is not changed`);
      return undefined;
    }
    return state.epoch;
  }

  /** Never rejects: a failure is logged. */
  async write(epoch: Term): Promise<void> {
    if (!this.#usable) return;
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
      this.#failed = false;
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => {});
      this.#warn(codeOf(error) ?? 'unknown error');
    }
  }

  #warn(reason: string): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#log.warn({ event: 'state-file-trouble', reason }, 'STATE_FILE cannot be used');
  }
}

function codeOf(error: unknown): string | undefined {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : undefined;
}

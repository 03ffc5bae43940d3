import type { EventEmitter } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { processEnvironment, type Environment } from '../config/environment.ts';

/** Where a command reads from; a terminal, where `isTTY` is set. */
export type Input = Readable & { readonly isTTY?: boolean };

/** Where a command writes to; a terminal, where `isTTY` is set. */
export type Output = Writable & {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
};

/** What a command has from the process that runs it. */
export interface Surroundings {
  readonly env: Environment;
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  /** Emits SIGINT and SIGTERM. */
  readonly signals: Pick<EventEmitter, 'once' | 'off'>;
}

/** What a command works with. */
export interface CommandContext extends Surroundings {
  /** Sets the exit code, which is 0 otherwise. */
  end(code: number): void;
}

/**
 * The surroundings of this process. `notices worker`, `notices ops` and `notices alerts watch` also log to
 * its standard output or error by themselves, and end it where a second signal asks for that.
 */
export function processSurroundings(): Surroundings {
  const { stdin, stdout, stderr } = process;
  return { env: processEnvironment(), stdin, stdout, stderr, signals: process };
}

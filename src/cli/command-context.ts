import type { EventEmitter } from 'node:events';
import { hostname, userInfo } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { processEnvironment, type Environment } from '../config/environment.ts';

/** Standard input of a command; a terminal where `isTTY` is set. */
export type Input = Readable & { readonly isTTY?: boolean };

/** Standard output or error of a command; a terminal where `isTTY` is set. */
export type Output = Writable & {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
};

/** What a command uses of the process that runs it. */
export interface Surroundings {
  readonly env: Environment;
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly signals: Pick<EventEmitter, 'once' | 'off'>;
}

export interface CommandContext extends Surroundings {
  /** Sets the exit code. Default: 0, or that of the error that ends the command. */
  end(code: number): void;
  /** Writes a warning to standard error: a line, or with `--json` a line of JSON. */
  warn(message: string): void;
}

/**
 * The surroundings of this process. `notices worker` and `notices ops` also log to its standard output or error
 * themselves, and exit on a second signal.
 */
export function processSurroundings(): Surroundings {
  const { stdin, stdout, stderr } = process;
  return { env: processEnvironment(), stdin, stdout, stderr, signals: process };
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Runs `use` with a signal that Ctrl-C and SIGTERM abort; a second one ends the process at once. */
export async function untilStopped<Result>(
  { signals }: Pick<CommandContext, 'signals'>,
  use: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const stop = new AbortController();
  const onSignal = () => stop.abort();
  for (const name of SIGNALS) signals.once(name, onSignal);
  try {
    return await use(stop.signal);
  } finally {
    for (const name of SIGNALS) signals.off(name, onSignal);
  }
}

/** Said by a command that a signal has stopped. */
export const STOPPED = 'Stopped. Run the command again for the rest.';

/** The user who runs the command, for the audit stream: `name@host`. */
export function currentUser(): string {
  let name;
  try {
    name = userInfo().username;
  } catch {
    // A user id without a name, as in containers.
    name = process.getuid?.() ?? 'unknown';
  }
  return `${name}@${hostname()}`;
}

/** A wrong use of the command line; the command exits with code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

import { EventEmitter } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { onTestFinished } from 'vitest';
import { runCli } from '../../../src/cli/run-cli.ts';
import { asUser } from '../../support/redis-users.ts';
import { until } from '../../support/wait.ts';

const DEADLINE_MS = 20_000;

/** How a command ended, and what it wrote. */
export interface Ended {
  readonly code: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command that still runs. */
export type Running = ReturnType<typeof start>;

/** A command line, or its words where one of them has a blank. */
export type Line = string | readonly string[];

/** Variables of a command: nothing of the test's own environment. */
export type Env = Readonly<Record<string, string>>;

/**
 * Starts a command in this process; it is stopped when the test ends.
 *
 * @param isTTY whether it can ask: the answer is written to `stdin`
 */
export function start(line: Line, env: Env = {}, isTTY = false) {
  const args = typeof line === 'string' ? line.split(' ') : line;
  const signals = new EventEmitter();
  const stdin = Object.assign(new PassThrough(), { isTTY });
  const [stdout, stderr] = [new Collected(), Object.assign(new Collected(), { isTTY })];
  const running = runCli(args, { env: asUser(args, env), stdin, stdout, stderr, signals });
  const ended = running.then((code): Ended => ({ code, stdout: stdout.text, stderr: stderr.text }));
  onTestFinished(async () => {
    signals.emit('SIGTERM');
    stdin.destroy();
    await ended;
  });
  return {
    stdin: stdin as Writable,
    stdout: () => stdout.text,
    stderr: () => stderr.text,
    /** Waits until standard output matches. */
    says: (pattern: RegExp) => matching(() => stdout.text, pattern),
    /** What Ctrl-C and `kill` do. */
    stop: (signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP'): void => void signals.emit(signal),
    /** With the exit code, or the name of the signal that ended it. */
    ended,
  };
}

/** Runs a command in this process to its end. */
export async function run(line: Line, env: Env = {}, stdin: string | Buffer = ''): Promise<Ended> {
  const running = start(line, env);
  running.stdin.end(stdin);
  return running.ended;
}

/** Waits until a text matches. */
export function matching(text: () => string, pattern: RegExp): Promise<RegExpExecArray> {
  return until(() => pattern.exec(text()), {
    what: `the output ${pattern}`,
    deadlineMs: DEADLINE_MS,
  });
}

/** A stream that keeps what is written to it. */
class Collected extends Writable {
  text = '';

  constructor() {
    super({ decodeStrings: false });
  }

  override _write(chunk: string | Buffer, _encoding: string, done: () => void): void {
    this.text += String(chunk);
    done();
  }
}

/** A wrong use: exit code 2, one line that names what is wrong, no result and no stack trace. */
export interface JsonError {
  readonly code: string;
  readonly message: string;
  readonly issues?: readonly { readonly field: string; readonly problem: string }[];
}

/** The error of a command that was run with `--json`. */
export function errorOf({ stderr }: Ended): JsonError {
  return (JSON.parse(stderr) as { error: JsonError }).error;
}

/** Lines that only a stack trace has. */
export const STACK = /^\s+at |node:internal|\.js:\d+/m;

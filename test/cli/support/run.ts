import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { until } from '../../support/wait.ts';

const MAIN = fileURLToPath(new URL('../../../dist/src/cli/main.js', import.meta.url));
const DEADLINE_MS = 20_000;

/** How a command ended, and what it wrote. */
export interface Ended {
  readonly code: number | string;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command that still runs. */
export interface Running {
  readonly child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Waits until standard output matches. */
  says(pattern: RegExp): Promise<RegExpExecArray>;
  /** Exit code, or the name of the signal that ended it. */
  readonly ended: Promise<Ended>;
}

/** Variables of a command: nothing of the test's own environment but where programs are. */
export type Env = Readonly<Record<string, string>>;

/** Starts `notices` with its built files; it is killed when the test ends. */
export function start(args: readonly string[], env: Env = {}): Running {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH, HOME, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = once(child, 'close').then(([code, signal]: (number | string | null)[]) => ({
    code: code ?? signal ?? 'unknown',
    stdout,
    stderr,
  }));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    says: (pattern) =>
      until(() => pattern.exec(stdout), { what: `the output ${pattern}`, deadlineMs: DEADLINE_MS }),
    ended,
  };
}

/** Runs `notices` to its end. */
export async function run(args: readonly string[], env: Env = {}, stdin = ''): Promise<Ended> {
  const running = start(args, env);
  running.child.stdin?.on('error', () => {}).end(stdin);
  return running.ended;
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

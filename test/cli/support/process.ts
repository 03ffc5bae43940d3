import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { asUser } from '../../support/redis-users.ts';
import { matching, type Ended, type Env, type Running } from './run.ts';

const MAIN = fileURLToPath(new URL('../../../dist/src/cli/main.js', import.meta.url));

/** A command in a process of its own. */
export interface RunningProcess extends Running {
  readonly child: ChildProcess;
}

/**
 * Starts `notices` with its built files; it is killed when the test ends. It has nothing of the test's
 * own environment but where programs are.
 */
export function startProcess(args: readonly string[], env: Env = {}): RunningProcess {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH, HOME, ...asUser(args, env) },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.stdin.on('error', () => {});
  const ended = once(child, 'close').then(([code, signal]: (number | string | null)[]) => {
    return { code: code ?? signal ?? 'unknown', stdout, stderr };
  });
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return {
    child,
    stdin: child.stdin,
    stdout: () => stdout,
    stderr: () => stderr,
    says: (pattern) => matching(() => stdout, pattern),
    stop: (signal) => child.kill(signal),
    ended,
  };
}

/** Runs `notices` in a process of its own to its end. */
export async function runProcess(
  args: readonly string[],
  env: Env = {},
  stdin = '',
): Promise<Ended> {
  const running = startProcess(args, env);
  running.stdin.end(stdin);
  return running.ended;
}

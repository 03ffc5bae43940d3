import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';

/** The built command line, beside the built scripts. */
const CLI = new URL('../../src/cli/main.js', import.meta.url).pathname;

/** Timeout of the start and the stop of a process, in milliseconds. */
const DEADLINE_MS = 15_000;

/** A `notices` process of the demo; its output goes to a file. */
export interface DemoProcess {
  readonly pid: number;
  /** Asks it to stop and waits until it has. */
  stop(): Promise<void>;
}

/**
 * Starts `notices <args>` and waits for a line of its standard output that `ready` accepts.
 *
 * @returns the process and that line
 */
export async function startNotices(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  logFile: string,
  ready: (line: string) => boolean,
): Promise<{ process: DemoProcess; line: string }> {
  const child = spawn(process.execPath, [CLI, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log = createWriteStream(logFile);
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  const line = await firstLine(child, ready, args[0] ?? '', logFile);
  return { process: { pid: child.pid ?? 0, stop: () => stop(child) }, line };
}

async function firstLine(
  child: ChildProcess,
  ready: (line: string) => boolean,
  name: string,
  logFile: string,
): Promise<string> {
  const { stdout } = child;
  if (stdout === null) throw new Error(`${name} has no output`);
  const lines = createInterface({ input: stdout });
  try {
    return await new Promise<string>((resolve, reject) => {
      const fail = () => reject(new Error(`${name} did not start; see ${logFile}`));
      child.once('exit', fail);
      setTimeout(fail, DEADLINE_MS).unref();
      lines.on('line', (line) => {
        if (ready(line)) resolve(line);
      });
    });
  } finally {
    lines.removeAllListeners('line');
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), DEADLINE_MS);
  await ended;
  clearTimeout(timer);
}

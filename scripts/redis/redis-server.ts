import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import { findOnPath } from './find-on-path.ts';
import { freePort } from './free-port.ts';
import { waitForPong } from './ping.ts';

const START_DEADLINE_MS = 15_000;
const STOP_DEADLINE_MS = 5_000;
const PORT_TRIES = 3;
const LOG_FILE = 'redis.log';

/** Names of the server's program, in the order they are looked for. */
const SERVER_PROGRAMS = ['redis-server', 'valkey-server'] as const;

/** Settings of a server that keeps nothing on disk. */
export const IN_MEMORY = ['--save', '', '--appendonly', 'no'];

/** Settings of a server whose data survives its restart. */
export const PERSISTENT = ['--save', '', '--appendonly', 'yes', '--appendfsync', 'everysec'];

export interface RedisServerOptions {
  /** Loopback port. Default: a free one. */
  readonly port?: number;
  /** Further settings on the command line, such as `--maxmemory 8mb`. They win over ours. */
  readonly args?: readonly string[];
  /** Folder for its data, kept on close. Default: a new temporary one, removed on close. */
  readonly dir?: string;
  /** Keeps its data in an append-only file over `restart()`. Default: false. */
  readonly persistence?: boolean;
  /** The program to run. Default: the first of {@link SERVER_PROGRAMS} on PATH. */
  readonly program?: string;
}

/**
 * A server of our own on 127.0.0.1, which tests may kill, freeze and restart.
 *
 * States: running (answers PING) -> frozen (`kill('SIGSTOP')`) -> running (`kill('SIGCONT')`);
 * running or frozen -> ended (`kill` with any other signal); running, frozen or ended -> running
 * (`restart()`, on the same port and folder, with a new pid); any -> closed (`close()`, for good).
 * Its process never outlives ours.
 */
export interface RedisServer {
  readonly url: string;
  readonly port: number;
  /** Process id; a new one after `restart()`. */
  readonly pid: number;
  /** Sends a signal; for one that ends the process, resolves when it has ended. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Ends the process where it still runs (SIGTERM, so that it may save) and starts it anew. */
  restart(): Promise<void>;
  /** Ends the process and removes its temporary folder. May be called again. */
  close(): Promise<void>;
}

/**
 * Starts a Redis server on a loopback port and waits until it answers PING.
 *
 * @throws NoticeQueueError REDIS_MISSING when there is no program, or it does not start; the
 * message holds the last lines of its log
 */
export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServer> {
  const program = options.program ?? localProgram();
  if (program === undefined) {
    throw new NoticeQueueError('REDIS_MISSING', 'No redis-server or valkey-server is on PATH.');
  }
  const temporary = options.dir === undefined;
  const dir = options.dir ?? mkdtempSync(path.join(tmpdir(), 'notice-queue-redis-'));
  mkdirSync(dir, { recursive: true });
  const removeDir = () => {
    if (temporary) rmSync(dir, { recursive: true, force: true });
  };

  const start = async (port: number) => launch(program, port, dir, settingsOf(options));
  let child: ChildProcess;
  let port: number;
  try {
    ({ child, port } = await startOnFreePort(start, options.port));
  } catch (error) {
    removeDir();
    throw error;
  }
  const onExit = () => {
    child.kill('SIGKILL');
    removeDir();
  };
  process.on('exit', onExit);

  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    get pid() {
      return child.pid ?? -1;
    },
    async kill(signal) {
      child.kill(signal);
      if (signal !== 'SIGSTOP' && signal !== 'SIGCONT') await ended(child);
    },
    async restart() {
      await stop(child);
      child = await start(port);
    },
    async close() {
      await stop(child);
      process.off('exit', onExit);
      removeDir();
    },
  };
}

/** The first of {@link SERVER_PROGRAMS} on a PATH, with its name. */
export function localProgram(searchPath = process.env['PATH']): string | undefined {
  for (const name of SERVER_PROGRAMS) {
    const found = findOnPath(name, searchPath);
    if (found !== undefined) return found;
  }
  return undefined;
}

function settingsOf(options: RedisServerOptions): string[] {
  return [
    ...(options.persistence === true ? PERSISTENT : IN_MEMORY),
    // Redis would lose notices under any other policy; the program refuses to run on it.
    '--maxmemory-policy',
    'noeviction',
    ...(options.args ?? []),
  ];
}

/** A free port may be taken before the server binds it, so only a port of the caller's is final. */
async function startOnFreePort(
  start: (port: number) => Promise<ChildProcess>,
  wanted: number | undefined,
): Promise<{ child: ChildProcess; port: number }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = wanted ?? (await freePort());
    try {
      return { child: await start(port), port };
    } catch (error) {
      if (wanted !== undefined || attempt >= PORT_TRIES) throw error;
    }
  }
}

async function launch(
  program: string,
  port: number,
  dir: string,
  settings: readonly string[],
): Promise<ChildProcess> {
  const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', dir, ...settings];
  const [command, ...prefix] = dieWithParent(program);
  const log = openSync(path.join(dir, LOG_FILE), 'w');
  // A process group of its own: Ctrl-C in a terminal must not end Redis before those who use it.
  const child = spawn(command, [...prefix, ...args], {
    stdio: ['ignore', log, log],
    detached: true,
  });
  closeSync(log);
  const gone = new AbortController();
  const onGone = () => gone.abort();
  child.once('exit', onGone);
  child.once('error', onGone);

  const problem = await waitForPong(`redis://127.0.0.1:${port}`, {
    deadlineMs: START_DEADLINE_MS,
    signal: gone.signal,
    pid: child.pid ?? -1,
  });
  // A server that asks for the password its caller gave it is up.
  if (problem === undefined || problem === 'NOAUTH') {
    child.unref();
    return child;
  }
  child.kill('SIGKILL');
  const detail = `${path.basename(program)} did not start (${problem}): ${lastLines(path.join(dir, LOG_FILE))}.`;
  throw new NoticeQueueError('REDIS_MISSING', detail);
}

/** Where util-linux is (any Linux), the kernel ends the server with us, even on our SIGKILL. */
function dieWithParent(program: string): [string, ...string[]] {
  const setpriv = process.platform === 'linux' ? findOnPath('setpriv', SYSTEM_PATH) : undefined;
  return setpriv === undefined ? [program] : [setpriv, '--pdeathsig', 'KILL', '--', program];
}

const SYSTEM_PATH = '/usr/bin:/bin';

async function stop(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  child.ref();
  child.kill('SIGTERM');
  // A frozen server does not see SIGTERM; SIGKILL reaches it.
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_DEADLINE_MS);
  child.kill('SIGCONT');
  await ended(child);
  clearTimeout(timer);
}

async function ended(child: ChildProcess): Promise<void> {
  if (hasEnded(child)) return;
  child.ref();
  await once(child, 'exit');
}

function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

function lastLines(file: string): string {
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return lines.slice(-3).join(' | ') || 'its log is empty';
}

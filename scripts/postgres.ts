import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { findOnPath } from './redis/find-on-path.ts';
import { freePort } from './redis/free-port.ts';

const run = promisify(execFile);
/** Where Debian puts it, each version in a folder of its own. */
const DEBIAN = '/usr/lib/postgresql';
const START_DEADLINE_MS = 20_000;

/** A PostgreSQL of our own on loopback. */
export interface Postgres {
  readonly url: string;
  close(): Promise<void>;
}

/** Starts one with its default settings; undefined where this machine has none. */
export async function startPostgres(folder: string): Promise<Postgres | undefined> {
  const programs = await programsFolder();
  if (programs === undefined) return undefined;
  const data = path.join(folder, 'postgres');
  await mkdir(data);
  const user = await unprivileged();
  if (user !== undefined) {
    await chmod(folder, 0o755);
    await chown(data, user.uid, user.gid);
  }
  const port = await freePort();
  const as = { ...user, cwd: data };
  await run(path.join(programs, 'initdb'), ['-D', data, '-A', 'trust', '-U', 'bench'], as);
  const options = ['-D', data, '-h', '127.0.0.1', '-p', String(port), '-k', data];
  const server = spawn(path.join(programs, 'postgres'), options, { ...as, stdio: 'ignore' });
  const onExit = () => server.kill('SIGKILL');
  process.once('exit', onExit);
  const url = `postgres://bench@127.0.0.1:${port}/postgres`;
  await untilItAnswers(url, server);
  return {
    url,
    close: async () => {
      process.off('exit', onExit);
      const exit = once(server, 'exit');
      server.kill('SIGINT');
      await exit;
    },
  };
}

async function programsFolder(): Promise<string | undefined> {
  const versions = await readdir(DEBIAN).catch(() => []);
  const newest = versions.sort((left, right) => Number(right) - Number(left))[0];
  if (newest !== undefined) return path.join(DEBIAN, newest, 'bin');
  const found = findOnPath('initdb', process.env['PATH']);
  return found === undefined ? undefined : path.dirname(found);
}

/** PostgreSQL refuses to run as root; Debian's package has made a user for it. */
async function unprivileged(): Promise<{ uid: number; gid: number } | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const id = async (flag: string) => Number((await run('id', [flag, 'postgres'])).stdout);
  return { uid: await id('-u'), gid: await id('-g') };
}

async function untilItAnswers(url: string, server: ChildProcess): Promise<void> {
  const deadline = performance.now() + START_DEADLINE_MS;
  for (;;) {
    const client = new Client({ connectionString: url });
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      if (server.exitCode !== null || performance.now() > deadline) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

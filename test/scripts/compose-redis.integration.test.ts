import { execFile, spawn } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { freePort } from '../../scripts/redis/free-port.ts';
import { loadConfig } from '../../src/config/config.ts';
import type { Environment } from '../../src/config/environment.ts';
import { metadataOf } from '../../src/config/variable.ts';
import { ROWS } from '../../src/config/variables.ts';
import { until } from '../support/wait.ts';
import { temporaryFolder } from '../support/temporary.ts';

const run = promisify(execFile);

async function newSecrets(): Promise<{ folder: string; read: (name: string) => string }> {
  const parent = temporaryFolder();
  const folder = path.join(parent, 'secrets');
  await run('deploy/make-secrets.sh', [folder]);
  return { folder, read: (name) => readFileSync(path.join(folder, name), 'utf8').trim() };
}

it('make-secrets makes each secret of docker-compose.yml, and changes none that exists', async () => {
  const { folder, read } = await newSecrets();
  const compose = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as {
    secrets: Record<string, unknown>;
  };
  expect(readdirSync(folder).sort()).toEqual(Object.keys(compose.secrets).sort());
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  const before = read('notices-worker');
  expect(before).toMatch(/^[\w+/]{43}$/);
  expect(read('notices-ops')).not.toBe(before);
  writeFileSync(path.join(folder, 'secret_key'), 'mine');
  await run('deploy/make-secrets.sh', [folder]);
  expect([read('notices-worker'), read('secret_key')]).toEqual([before, 'mine']);
});

it('what make-secrets makes is valid', async () => {
  const { folder, read } = await newSecrets();
  const secret = ROWS.filter((row) => metadataOf(row).secret !== undefined);
  const files = secret.flatMap(({ variable }) => {
    const name = variable.toLowerCase();
    const isMade = readdirSync(folder).includes(name) && read(name) !== '';
    return isMade ? [[`${variable}_FILE`, path.join(folder, name)] as const] : [];
  });
  expect(files.length).toBeGreaterThan(4);
  const environment: Environment = Object.fromEntries<string>(files);
  const { service } = loadConfig({ ...environment, BASE_URL: 'https://api.example.test' });
  expect(service).toMatchObject({ accessKey: 'emulator-access-key' });
});

it('Redis starts with the users and their passwords, of which no command line shows any', async () => {
  const { folder, read } = await newSecrets();
  rmSync(path.join(folder, 'notices-importer'));
  const port = await freePort();
  const bin = temporaryFolder();
  // In place of the one of the image; notes its arguments and environment.
  const entrypoint = '#!/bin/sh\n{ printf "%s\\n" "$@"; env; } >"$TMPDIR/seen"\nexec "$@"\n';
  writeFileSync(path.join(bin, 'docker-entrypoint.sh'), entrypoint, { mode: 0o755 });
  const server = spawn(
    'sh',
    [
      path.resolve('deploy/redis/start.sh'),
      '--port',
      `${port}`,
      '--bind',
      '127.0.0.1',
      '--save',
      '',
      '--dir',
      bin,
    ],
    {
      env: { PATH: `${bin}:${process.env['PATH']}`, SECRETS: folder, TMPDIR: bin },
      stdio: 'ignore',
    },
  );
  onTestFinished(() => void server.kill('SIGKILL'));
  const asked = async (username: string | undefined, password: string) => {
    const credentials = username === undefined ? {} : { username, password };
    const client = new Redis({
      port,
      ...credentials,
      maxRetriesPerRequest: 0,
      retryStrategy: null,
    });
    client.on('error', () => {});
    try {
      return await client.ping();
    } catch (error) {
      return error instanceof Error ? error.message : 'failed';
    } finally {
      client.disconnect();
    }
  };
  const password = read('notices-worker');
  await until(async () => (await asked('notices-worker', password)) === 'PONG', { what: 'Redis' });
  expect(await asked('notices-ops', read('notices-ops'))).toBe('PONG');
  expect(await asked('notices-ops', password)).not.toBe('PONG');
  expect(await asked('notices-importer', '')).not.toBe('PONG');
  expect(await asked(undefined, '')).toMatch(/^NOAUTH/);
  const seen = readFileSync(path.join(bin, 'seen'), 'utf8');
  const acl = /^--aclfile\n(.+)$/m.exec(seen)?.[1] ?? '';
  expect(statSync(acl).mode & 0o777).toBe(0o600);
  const users = readFileSync(acl, 'utf8');
  for (const name of ['notices-worker', 'notices-ops']) {
    expect(seen + users).not.toContain(read(name));
  }
});

it('Redis does not start with an empty password', async () => {
  const { folder } = await newSecrets();
  writeFileSync(path.join(folder, 'notices-ops'), '\n');
  const env = { PATH: process.env['PATH'] ?? '', SECRETS: folder };
  await expect(run('sh', [path.resolve('deploy/redis/start.sh')], { env })).rejects.toThrow(
    'notices-ops is empty',
  );
});

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../scripts/redis/free-port.ts';
import { localProgram } from '../../scripts/redis/redis-server.ts';
import { connectRedis, type RedisSettings } from '../../src/redis/connect.ts';
import { startTlsFront, type FrontOptions, type TlsFront } from '../chaos/support/tls-front.ts';
import { certificate } from '../service/support/servers.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';

const redis = testRedis();
const { cert, key } = certificate('local');

async function front(target: number, options?: FrontOptions): Promise<TlsFront> {
  const started = await startTlsFront(target, options);
  onTestFinished(() => started.close());
  return started;
}

function connect(settings: Partial<RedisSettings>): { opened: Redis; errors: string[] } {
  const base = { url: 'rediss://127.0.0.1', sentinels: [], cluster: [], connectTimeoutMs: 1_000 };
  const errors: string[] = [];
  const note = (error: Error) => errors.push(error.message);
  const opened = connectRedis({ ...base, tlsCa: cert, ...settings }, 'worker', note) as Redis;
  onTestFinished(() => opened.disconnect());
  return { opened, errors };
}

const portOf = (url: string) => Number(new URL(url).port);

/** A Sentinel with a password, which leads to this port. */
async function startSentinel(masterPort: number, password: string): Promise<number> {
  const port = await freePort();
  const folder = mkdtempSync(path.join(tmpdir(), 'notices-sentinel-'));
  const config = path.join(folder, 'sentinel.conf');
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `requirepass ${password}`,
    `sentinel monitor main 127.0.0.1 ${masterPort} 1`,
  ];
  writeFileSync(config, `${lines.join('\n')}\n`);
  const sentinel = spawn(localProgram() ?? 'redis-server', [config, '--sentinel'], {
    stdio: 'ignore',
  });
  const client = new Redis(port, '127.0.0.1', { password, enableReadyCheck: false });
  client.on('error', () => {});
  onTestFinished(() => {
    client.disconnect();
    sentinel.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  await until(() => client.status === 'ready', { what: 'the Sentinel' });
  return port;
}

it('reaches Sentinels and the master they name with TLS only, when Redis uses TLS', async () => {
  const master = await front(portOf(redis.url));
  const sentinel = await front(await startSentinel(master.port, 'sentinel-password'));
  const { opened } = connect({
    sentinels: [{ host: '127.0.0.1', port: sentinel.port }],
    sentinelName: 'main',
    sentinelPassword: 'sentinel-password',
  });
  await until(() => opened.status === 'ready', { what: 'the connection' });
  expect(await opened.ping()).toBe('PONG');
  // Neither server saw a byte that was not TLS from this client; the Sentinel's own checks are plain.
  expect(sentinel.refused).toBe(0);
});

it('shows its certificate to a Redis that demands one', async () => {
  const mutual = await front(portOf(redis.url), { clientCa: cert });
  const url = `rediss://127.0.0.1:${mutual.port}`;
  const { opened } = connect({ url, tlsCert: cert, tlsKey: key });
  await until(() => opened.status === 'ready', { what: 'the connection' });
  expect(await opened.ping()).toBe('PONG');

  const { opened: without, errors } = connect({ url });
  await until(() => errors.length > 0, { what: 'the refusal' });
  expect(without.status).not.toBe('ready');
});

it('checks the certificate of Redis also where the environment tells Node.js not to', async () => {
  const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  onTestFinished(() => {
    if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
  });
  const other = await front(portOf(redis.url));
  other.show('other');
  const { opened, errors } = connect({
    url: `rediss://127.0.0.1:${other.port}`,
  });
  await until(() => errors.length > 0 || opened.status === 'ready', { what: 'an end' });
  expect(opened.status).not.toBe('ready');
});

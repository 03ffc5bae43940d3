import type { Redis } from 'ioredis';
import { expect, it, onTestFinished, vi } from 'vitest';
import { connectRedis, type RedisSettings } from '../../src/redis/connect.ts';
import { startTlsFront, type TlsFront } from '../chaos/support/tls-front.ts';
import { certificate } from '../service/support/servers.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';
import { SENTINEL_PASSWORD, startSentinel } from './support/sentinel.ts';

const redis = testRedis();
const { cert } = certificate('local');

async function front(target: number): Promise<TlsFront> {
  const started = await startTlsFront(target);
  onTestFinished(() => started.close());
  return started;
}

function connect(settings: Partial<RedisSettings>): { opened: Redis; errors: string[] } {
  const base = { url: 'rediss://127.0.0.1', sentinels: [], connectTimeoutMs: 1_000 };
  const errors: string[] = [];
  const note = (error: Error) => errors.push(error.message);
  const opened = connectRedis({ ...base, tlsCa: cert, ...settings }, 'worker', note);
  onTestFinished(() => opened.disconnect());
  return { opened, errors };
}

const portOf = (url: string) => Number(new URL(url).port);

it('reaches Sentinels and the master they name with TLS only, when Redis uses TLS', async () => {
  const master = await front(portOf(redis.url));
  const sentinel = await front(await startSentinel(master.port));
  const { opened } = connect({
    sentinels: [{ host: '127.0.0.1', port: sentinel.port }],
    sentinelName: 'main',
    sentinelPassword: SENTINEL_PASSWORD,
  });
  await until(() => opened.status === 'ready', { what: 'the connection' });
  expect(await opened.ping()).toBe('PONG');
  // Neither server saw a byte that was not TLS from this client; the Sentinel's own checks are plain.
  expect(sentinel.refused).toBe(0);
});

it('checks the certificate of Redis also where the environment tells Node.js not to', async () => {
  vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
  onTestFinished(() => void vi.unstubAllEnvs());
  const other = await front(portOf(redis.url));
  other.show('other');
  const { opened, errors } = connect({
    url: `rediss://127.0.0.1:${other.port}`,
  });
  await until(() => errors.length > 0 || opened.status === 'ready', { what: 'an end' });
  expect(opened.status).not.toBe('ready');
});

import { afterEach, describe, expect, it } from 'vitest';
import { connectRedis, type RedisClient } from '../../src/redis/connect.ts';
import { startFaultProxy, type FaultProxy } from '../support/fault-proxy.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';

const COMMAND_TIMEOUT_MS = 300;

describe('a connection that died in silence', () => {
  const redis = testRedis();
  let proxy: FaultProxy | undefined;
  let client: RedisClient | undefined;

  afterEach(async () => {
    client?.disconnect();
    await proxy?.close();
  });

  async function connected(role: 'ops' | 'reader' | 'worker') {
    const through = await startFaultProxy(Number(new URL(redis.url).port));
    proxy = through;
    const settings = {
      url: `redis://127.0.0.1:${through.port}`,
      sentinels: [],
      connectTimeoutMs: 1_000,
    };
    const opened = connectRedis(
      settings,
      role,
      () => {},
      role === 'worker' ? undefined : COMMAND_TIMEOUT_MS,
    );
    client = opened;
    await until(() => opened.status === 'ready', { what: 'the connection' });
    return { opened, through };
  }

  it.each(['ops', 'reader'] as const)('is opened anew after two commands, %s', async (role) => {
    const { opened, through } = await connected(role);
    await through.place({ kind: 'stale', by: 'silence' });
    await expect(opened.ping()).rejects.toThrow('timed out');
    const answers = () =>
      opened
        .ping()
        .then(() => true)
        .catch(() => false);
    expect(await until(answers, { what: 'an answer', deadlineMs: 20_000 })).toBe(true);
    expect(through.struck).toBe(1);
  });

  it('is opened anew by a worker, which asks again what was under way', async () => {
    const { opened, through } = await connected('worker');
    await through.place({ kind: 'stale', by: 'silence' });
    expect(await opened.ping()).toBe('PONG');
    expect(through.struck).toBe(1);
  }, 60_000);
});

describe('a connection to a server that has become a replica', () => {
  const redis = testRedis();

  afterEach(async () => {
    await redis.client.call('REPLICAOF', 'NO', 'ONE');
  });

  it('is opened anew after a refused write, once a second at most', async () => {
    const opened = connectRedis(
      { url: redis.url, sentinels: [], connectTimeoutMs: 1_000 },
      'worker',
      () => {},
    );
    try {
      await until(() => opened.status === 'ready', { what: 'the connection' });
      let closes = 0;
      opened.on('close', () => closes++);
      // Of a server that does not answer, so that it keeps its data.
      await redis.client.call('REPLICAOF', '127.0.0.1', '1');
      const write = () => opened.set(`${redis.prefix}:written`, '1');
      await expect(write()).rejects.toThrow('READONLY');
      await until(() => closes === 1 && opened.status === 'ready', { what: 'it to be reopened' });
      await expect(write()).rejects.toThrow('READONLY');
      await opened.ping();
      expect(closes).toBe(1);
      await redis.client.call('REPLICAOF', 'NO', 'ONE');
      expect(await write()).toBe('OK');
    } finally {
      opened.disconnect();
    }
  });
});

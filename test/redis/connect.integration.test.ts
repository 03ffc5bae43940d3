import { afterEach, describe, expect, it } from 'vitest';
import { connectRedis } from '../../src/redis/connect.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';
import { connectThrough } from './support/connect-through.ts';

const redis = testRedis();

describe('a connection that died in silence', () => {
  async function dead(role: 'ops' | 'reader' | 'worker', commandTimeoutMs?: number) {
    const { client, proxy } = await connectThrough(redis.url, role, commandTimeoutMs);
    await until(() => client.status === 'ready', { what: 'the connection' });
    await proxy.place({ kind: 'stale', by: 'silence' });
    return { client, proxy };
  }

  it.each(['ops', 'reader'] as const)('is opened anew after two commands, %s', async (role) => {
    const { client, proxy } = await dead(role, 300);
    await expect(client.ping()).rejects.toThrow('timed out');
    const answers = () => client.ping().catch(() => false);
    expect(await until(answers, { what: 'an answer', deadlineMs: 20_000 })).toBe('PONG');
    expect(proxy.struck).toBe(1);
  });

  it('is opened anew by a worker, which asks again what was under way', async () => {
    const { client, proxy } = await dead('worker');
    expect(await client.ping()).toBe('PONG');
    expect(proxy.struck).toBe(1);
  }, 60_000);
});

describe('a connection to a server that has become a replica', () => {
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

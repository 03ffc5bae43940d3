import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { waitForPong } from '../../scripts/redis/ping.ts';
import {
  localProgram,
  type RedisServer,
  startRedisServer,
} from '../../scripts/redis/redis-server.ts';
import { until } from '../support/wait.ts';

// Where Redis comes from a container there is no program to start, and these tests say so.
describe.skipIf(localProgram() === undefined)('a Redis server of our own', () => {
  const servers: RedisServer[] = [];
  const start = async (options?: Parameters<typeof startRedisServer>[0]) => {
    const server = await startRedisServer(options);
    servers.push(server);
    return server;
  };
  afterEach(async () => {
    for (const server of servers.splice(0)) await server.close();
  });

  it('listens on loopback, keeps nothing on disk and never evicts', async () => {
    const server = await start();
    const settings = await settingsOf(server, ['bind', 'appendonly', 'save', 'maxmemory-policy']);
    expect(settings).toEqual({
      bind: '127.0.0.1',
      appendonly: 'no',
      save: '',
      'maxmemory-policy': 'noeviction',
    });
  });

  it('lets the settings of the caller win', async () => {
    const server = await start({ args: ['--maxmemory-policy', 'allkeys-lru'] });
    const settings = await settingsOf(server, ['maxmemory-policy']);
    expect(settings).toEqual({ 'maxmemory-policy': 'allkeys-lru' });
  });

  it('forgets its data over a restart, on the same port with a new process', async () => {
    const server = await start();
    const { port, pid } = server;
    await write(server.url);
    await server.restart();
    expect(await read(server.url)).toBeNull();
    expect(server.port).toBe(port);
    expect(server.pid).not.toBe(pid);
  });

  it('keeps its data over a restart with persistence', async () => {
    const server = await start({ persistence: true });
    await write(server.url);
    await server.restart();
    expect(await read(server.url)).toBe('kept');
  });

  it('is gone after SIGKILL and comes back with restart()', async () => {
    const server = await start();
    await server.kill('SIGKILL');
    expect(isAlive(server.pid)).toBe(false);
    expect(await waitForPong(server.url, { deadlineMs: 200 })).toBe('ECONNREFUSED');
    await server.restart();
    expect(await waitForPong(server.url, { deadlineMs: 5_000 })).toBeUndefined();
  });

  it('answers nothing while frozen, and goes on with SIGCONT', async () => {
    const server = await start();
    const redis = new Redis(server.url, { commandTimeout: 300, maxRetriesPerRequest: 0 });
    redis.on('error', () => {});
    try {
      await redis.ping();
      await server.kill('SIGSTOP');
      await expect(redis.ping()).rejects.toThrow(/timed out/i);
      await server.kill('SIGCONT');
      expect(await redis.ping()).toBe('PONG');
    } finally {
      redis.disconnect();
    }
  });

  it('can be closed while frozen, twice', async () => {
    const server = await start();
    const { pid } = server;
    await server.kill('SIGSTOP');
    await server.close();
    await server.close();
    expect(isAlive(pid)).toBe(false);
  });

  it('says why it did not start, with the words of its log', async () => {
    const holder = createServer();
    holder.listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const address = holder.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    try {
      await expect(startRedisServer({ port })).rejects.toMatchObject({
        code: 'REDIS_MISSING',
        message: expect.stringMatching(/did not start .*Address already in use/s) as unknown,
      });
    } finally {
      holder.close();
    }
  });

  it('does not take the Redis of somebody else on its port for its own', async () => {
    const theirs = await start();
    await expect(startRedisServer({ port: theirs.port })).rejects.toMatchObject({
      code: 'REDIS_MISSING',
    });
    expect(await waitForPong(theirs.url, { deadlineMs: 5_000 })).toBeUndefined();
  });

  describe('and the process that started it', () => {
    let dir = '';
    beforeEach(() => {
      dir = mkdtempSync(path.join(tmpdir(), 'notice-queue-test-'));
    });
    afterEach(() => rmSync(dir, { recursive: true, force: true }));

    it('ends with it when that exits', async () => {
      const { pid } = await parentOfServer('exit');
      expect(pid).toBeGreaterThan(0);
      await until(() => !isAlive(pid), { what: `the end of the server ${pid}` });
    });

    // Only Linux ends a child with a parent that could not clean up.
    it.runIf(process.platform === 'linux')('ends with it when that is killed', async () => {
      const { parent, pid } = await parentOfServer('stay');
      expect(isAlive(pid)).toBe(true);
      parent.kill('SIGKILL');
      await until(() => !isAlive(pid), { what: `the end of the server ${pid}` });
    });

    async function parentOfServer(then: 'exit' | 'stay') {
      const args = ['--input-type=module', '--eval', PARENT, then];
      const parent = spawn(process.execPath, args, {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: { ...process.env, TMPDIR: dir },
      });
      let printed = '';
      parent.stdout.on('data', (data: Buffer) => {
        printed += data.toString();
      });
      await until(() => printed.endsWith('\n'), { what: 'the server', deadlineMs: 20_000 });
      return { parent, pid: Number(printed) };
    }
  });
});

/** The built module: a child process has no loader for TypeScript on Node 20. */
const PARENT = `
  const { startRedisServer } = await import('./dist/scripts/redis/redis-server.js');
  const server = await startRedisServer();
  process.stdout.write(server.pid + '\\n');
  if (process.argv.includes('stay')) setInterval(() => {}, 1000);
`;

async function settingsOf(server: RedisServer, names: string[]): Promise<Record<string, unknown>> {
  return withRedis(server.url, async (redis) => {
    const found: Record<string, unknown> = {};
    for (const name of names) {
      const [, value] = (await redis.config('GET', name)) as unknown[];
      found[name] = value;
    }
    return found;
  });
}

const write = (url: string) => withRedis(url, (redis) => redis.set('key', 'kept'));
const read = (url: string) => withRedis(url, (redis) => redis.get('key'));

async function withRedis<T>(url: string, use: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(url);
  try {
    return await use(redis);
  } finally {
    redis.disconnect();
  }
}

/** An ended process that nobody has waited for yet (Linux' state Z) counts as ended. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== 'linux' || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

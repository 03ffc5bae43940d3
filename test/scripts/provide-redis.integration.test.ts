import { symlinkSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { fromAptGet } from '../../scripts/redis/from-apt-get.ts';
import { fromContainer } from '../../scripts/redis/from-container.ts';
import { fromEnvironment } from '../../scripts/redis/from-environment.ts';
import { fromLocalProgram } from '../../scripts/redis/from-local-program.ts';
import { waitForPong } from '../../scripts/redis/ping.ts';
import { provideRedis, REDIS_STEPS } from '../../scripts/redis/provide-redis.ts';
import { localProgram, startRedisServer } from '../../scripts/redis/redis-server.ts';
import type { ProvidedRedis, RedisStep } from '../../scripts/redis/redis-step.ts';
import { temporaryFolder } from '../support/temporary.ts';

const program = localProgram();

it('takes what is named, then what is installed, then what can be fetched', async () => {
  expect(REDIS_STEPS).toEqual([fromEnvironment, fromLocalProgram, fromContainer, fromAptGet]);
  const redis: ProvidedRedis = {
    url: 'redis://x',
    how: 'container',
    close: () => Promise.resolve(),
  };
  const open: RedisStep = () => Promise.resolve(redis);
  const closed: RedisStep = () => Promise.resolve('It is closed.');
  const never: RedisStep = () => Promise.reject(new Error('looked further'));
  expect(await provideRedis({}, [closed, open, never])).toBe(redis);
  await expect(provideRedis({}, [closed, closed])).rejects.toMatchObject({
    code: 'REDIS_MISSING',
    message:
      'No Redis was found: It is closed. It is closed. ' +
      'Set REDIS_URL, install redis-server, or start Docker.',
  });
});

it.skipIf(program === undefined)(
  'REDIS_URL is left running; one that refuses us ends the search and stays secret',
  async () => {
    const theirs = await startRedisServer({ args: ['--requirepass', 'right'] });
    onTestFinished(() => theirs.close());
    const withPassword = (word: string) => theirs.url.replace('redis://', `redis://:${word}@`);
    const found = await provideRedis({ env: { REDIS_URL: withPassword('right') } });
    expect(found.how).toBe('REDIS_URL');
    await found.close();
    expect(await waitForPong(withPassword('right'), { deadlineMs: 5_000 })).toBeUndefined();
    const env = { REDIS_URL: withPassword('wrong-canary') };
    const refused = await provideRedis({ env }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: 'REDIS_MISSING' });
    expect(String(refused)).toMatch(/did not answer PING/);
    expect(String(refused)).not.toContain('canary');
  },
);

it.skipIf(program === undefined)('a program on PATH is started, and ends on close', async () => {
  const bin = temporaryFolder();
  symlinkSync(program ?? '', path.join(bin, 'valkey-server'));
  const found = await provideRedis({ env: { PATH: `/nowhere:${bin}` } });
  expect(found.how).toBe('valkey-server');
  expect(await waitForPong(found.url, { deadlineMs: 5_000 })).toBeUndefined();
  await found.close();
  await found.close();
  expect(await waitForPong(found.url, { deadlineMs: 200 })).toBe('ECONNREFUSED');
});

// It may have to pull an image, so only a machine that says it has an engine pays for it.
it.runIf(process.env['TEST_CONTAINERS'] === '1')(
  'a container serves where no program is installed, asks for a password, and is removed on close',
  { timeout: 180_000 },
  async () => {
    const said: string[] = [];
    const found = await provideRedis({
      env: { PATH: temporaryFolder() },
      say: (line) => said.push(line),
    });
    onTestFinished(() => found.close());
    expect(found.how).toBe('container');
    expect(said).toHaveLength(1);
    expect(await waitForPong(found.url, { deadlineMs: 5_000 })).toBeUndefined();
    const open = found.url.replace(/:[^:@/]+@/, '');
    expect(await waitForPong(open, { deadlineMs: 5_000 })).toBe('NOAUTH');
    await found.close();
    expect(await waitForPong(found.url, { deadlineMs: 200 })).toBe('ECONNREFUSED');
  },
);

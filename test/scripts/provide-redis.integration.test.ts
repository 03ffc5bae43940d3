import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fromAptGet } from '../../scripts/redis/from-apt-get.ts';
import { fromContainer } from '../../scripts/redis/from-container.ts';
import { fromEnvironment } from '../../scripts/redis/from-environment.ts';
import { fromLocalProgram } from '../../scripts/redis/from-local-program.ts';
import { waitForPong } from '../../scripts/redis/ping.ts';
import { provideRedis, REDIS_STEPS } from '../../scripts/redis/provide-redis.ts';
import { localProgram, startRedisServer } from '../../scripts/redis/redis-server.ts';
import type { ProvidedRedis, RedisStep, StepContext } from '../../scripts/redis/redis-step.ts';

const program = localProgram();
const opened: { close(): Promise<void> }[] = [];
let dir = '';

beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'notice-queue-test-'));
});
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
  rmSync(dir, { recursive: true, force: true });
});

const redis: ProvidedRedis = {
  url: 'redis://x',
  how: 'container',
  close: () => Promise.resolve(),
};
const open: RedisStep = () => Promise.resolve(redis);
const never: RedisStep = () => Promise.reject(new Error('looked further'));
const closed =
  (reason: string): RedisStep =>
  () =>
    Promise.resolve(reason);
const say = () => {};

describe('the order of the ways', () => {
  it('is: what is named, what is installed, what can be fetched', () => {
    expect(REDIS_STEPS).toEqual([fromEnvironment, fromLocalProgram, fromContainer, fromAptGet]);
  });

  it.each([
    { name: 'takes the first that is open', steps: [open, never] },
    { name: 'goes on while ways are closed', steps: [closed('a.'), closed('b.'), open, never] },
  ])('$name', async ({ steps }) => {
    expect(await provideRedis({}, steps)).toBe(redis);
  });

  it('says why each is closed, and the three remedies', async () => {
    const nothing = provideRedis({}, [closed('First is closed.'), closed('Second too.')]);
    await expect(nothing).rejects.toMatchObject({
      code: 'REDIS_MISSING',
      message:
        'No Redis was found: First is closed. Second too. ' +
        'Set REDIS_URL, install redis-server, or start Docker.',
    });
  });

  it('hands persistence, environment and the voice to the steps', async () => {
    const seen: StepContext[] = [];
    const spy: RedisStep = (context) => {
      seen.push(context);
      return Promise.resolve(redis);
    };
    await provideRedis({ env: { PATH: '/nowhere' }, persistence: true, say }, [spy]);
    expect(seen).toEqual([{ env: { PATH: '/nowhere' }, persistence: true, say }]);
  });
});

describe('REDIS_URL', () => {
  it.each([undefined, '', '  '])('%j counts as not set', async (url) => {
    expect(await fromEnvironment(context({ REDIS_URL: url }))).toBe('REDIS_URL is not set.');
  });

  it.each(['127.0.0.1:6379', 'http://127.0.0.1', 'redis://[::'])('refuses %s', async (url) => {
    await expect(fromEnvironment(context({ REDIS_URL: url }))).rejects.toMatchObject({
      code: 'REDIS_MISSING',
    });
  });

  it.skipIf(program === undefined)('is taken as it is, and left running', async () => {
    const theirs = await startRedisServer();
    opened.push(theirs);
    const found = await provideRedis({ env: { REDIS_URL: theirs.url } });
    expect(found).toMatchObject({ url: theirs.url, how: 'REDIS_URL' });
    await found.close();
    expect(await waitForPong(theirs.url, { deadlineMs: 5_000 })).toBeUndefined();
  });

  it.skipIf(program === undefined)('that refuses us ends the search and stays secret', async () => {
    const theirs = await startRedisServer({ args: ['--requirepass', 'right'] });
    opened.push(theirs);
    const url = theirs.url.replace('redis://', 'redis://:wrong-canary@');
    const refused = await provideRedis({ env: { REDIS_URL: url } }).catch(
      (error: unknown) => error,
    );
    expect(refused).toMatchObject({ code: 'REDIS_MISSING' });
    expect(String(refused)).toMatch(/did not answer PING/);
    expect(String(refused)).not.toContain('canary');
  });
});

describe.skipIf(program === undefined)('a program on PATH', () => {
  it.each([
    { there: ['redis-server'], how: 'redis-server' },
    { there: ['valkey-server'], how: 'valkey-server' },
    { there: ['valkey-server', 'redis-server'], how: 'redis-server' },
  ])('$there is started as $how and ends on close', async ({ there, how }) => {
    for (const name of there) symlinkSync(program ?? '', path.join(dir, name));
    const found = await provideRedis({ env: { PATH: `/nowhere:${dir}` } });
    opened.push(found);
    expect(found.how).toBe(how);
    expect(await waitForPong(found.url, { deadlineMs: 5_000 })).toBeUndefined();
    await found.close();
    await found.close();
    expect(await waitForPong(found.url, { deadlineMs: 200 })).toBe('ECONNREFUSED');
  });

  it.each([
    { persistence: true, appendonly: 'yes' },
    { persistence: false, appendonly: 'no' },
  ])('writes an append-only file: $persistence', async ({ persistence, appendonly }) => {
    const found = await provideRedis({ persistence, env: { PATH: process.env['PATH'] } });
    opened.push(found);
    const redis = new Redis(found.url);
    try {
      expect(await redis.config('GET', 'appendonly')).toEqual(['appendonly', appendonly]);
    } finally {
      redis.disconnect();
    }
  });

  it('does not run a file that is not executable', async () => {
    writeFileSync(path.join(dir, 'redis-server'), 'not a program', { mode: 0o644 });
    expect(await fromLocalProgram(context({ PATH: dir }))).toBe(
      'Neither redis-server nor valkey-server is on PATH.',
    );
  });
});

describe('apt-get', () => {
  const root = process.getuid?.() === 0;

  it('is a closed way where there is none', async () => {
    expect(await fromAptGet(context({ PATH: dir }))).toBe('This machine has no apt-get.');
  });

  it.skipIf(root)('is a closed way for anybody but root', async () => {
    script('apt-get', 'exit 0');
    expect(await fromAptGet(context({ PATH: dir }))).toBe('Only root may install redis-server.');
  });

  it.runIf(root)('is a closed way where it fails', async () => {
    script('apt-get', 'exit 100');
    expect(await fromAptGet(context({ PATH: dir }))).toBe('apt-get could not install it.');
  });

  it.runIf(root && program !== undefined)(
    'installs, asks nothing and starts no service',
    async () => {
      script(
        'apt-get',
        `
      echo "$@ | $DEBIAN_FRONTEND $RUNLEVEL" >> ${dir}/calls
      [ "$1" != install ] || ln -s ${program} ${dir}/redis-server
    `,
      );
      const said: string[] = [];
      const found = await fromAptGet({
        ...context({ PATH: `${dir}:/usr/bin:/bin` }),
        say: (line) => said.push(line),
      });
      if (typeof found === 'string') throw new Error(found);
      opened.push(found);
      expect(found.how).toBe('apt-get');
      expect(readFileSync(path.join(dir, 'calls'), 'utf8').split('\n')).toEqual([
        'update -qq | noninteractive 1',
        'install -y -qq --no-install-recommends redis-server | noninteractive 1',
        '',
      ]);
      expect(said).toEqual(["No Redis is at hand: installing Debian's redis-server (apt-get)."]);
    },
  );
});

describe('a container', () => {
  it('is a closed way, soon, where the engine does not answer', async () => {
    const sockets: Socket[] = [];
    const mute = createServer((socket) => sockets.push(socket));
    mute.listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const address = mute.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const env = { ...process.env, DOCKER_HOST: `tcp://127.0.0.1:${port}` };
    try {
      const args = ['--input-type=module', '--eval', ASK_FOR_CONTAINER];
      const { stdout } = await promisify(execFile)(process.execPath, args, { env });
      expect(stdout).toBe('No Docker engine answers.');
      expect(sockets.length).toBeGreaterThan(0);
    } finally {
      for (const socket of sockets) socket.destroy();
      mute.close();
    }
  });

  // It may have to pull an image, so only a machine that says it has an engine pays for it.
  it.runIf(process.env['TEST_CONTAINERS'] === '1')(
    'serves where no program is installed, asks for a password, and is removed on close',
    { timeout: 180_000 },
    async () => {
      const said: string[] = [];
      const found = await provideRedis({ env: { PATH: dir }, say: (line) => said.push(line) });
      opened.push(found);
      expect(found.how).toBe('container');
      expect(said).toHaveLength(1);
      expect(await waitForPong(found.url, { deadlineMs: 5_000 })).toBeUndefined();
      const open = found.url.replace(/:[^:@/]+@/, '');
      expect(await waitForPong(open, { deadlineMs: 5_000 })).toBe('NOAUTH');
      await found.close();
      expect(await waitForPong(found.url, { deadlineMs: 200 })).toBe('ECONNREFUSED');
    },
  );
});

/** A process of its own, for the address of the engine is read from its environment once. */
const ASK_FOR_CONTAINER = `
  const { fromContainer } = await import('./dist/scripts/redis/from-container.js');
  process.stdout.write(String(await fromContainer({ env: {}, persistence: false, say() {} })));
  process.exit(0);
`;

function context(env: StepContext['env']): StepContext {
  return { env, persistence: false, say };
}

function script(name: string, body: string): void {
  const file = path.join(dir, name);
  writeFileSync(file, `#!/bin/sh\n${body}\n`);
  chmodSync(file, 0o755);
}

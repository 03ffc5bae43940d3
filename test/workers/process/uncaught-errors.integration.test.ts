import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../../scripts/redis/free-port.ts';
import { until } from '../../support/wait.ts';
import { serviceEnv } from '../../emulator/running.ts';

const FAILS = fileURLToPath(new URL('../support/uncaught.mjs', import.meta.url));

it.each([
  ['the command line', 'src/cli/main.js', ['emulator', '--port', '0'], /emulator at/],
  ['a worker', 'src/cli/main.js', ['worker'], /waiting-for-redis/],
  ['the ops server', 'src/cli/main.js', ['ops'], /ops-listening/],
] as const)(
  'an error that nothing caught ends %s, which shows no argument of a command',
  async (_, file, args, ready) => {
    const program = fileURLToPath(new URL(`../../../dist/${file}`, import.meta.url));
    const child = spawn(process.execPath, [program, ...args], {
      env: {
        PATH: process.env['PATH'] ?? '',
        NODE_OPTIONS: `--import ${FAILS}`,
        REDIS_URL: `redis://127.0.0.1:${await freePort()}`,
        ...serviceEnv('http://127.0.0.1:9'),
        HEALTH_ADDRESS: '0',
        OPS_ADDRESS: '0',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    let written = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (written += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (written += text));
    const ended = once(child, 'close');
    await until(() => ready.test(written), { what: 'the program to run', deadlineMs: 20_000 });
    child.kill('SIGUSR2');
    expect(await ended).toEqual([1, null]);
    expect(written).toMatch(/unexpected failure \(Error\); this is a bug in notice-queue\n +at /);
    expect(written).toContain('uncaught.mjs');
    expect(written).not.toMatch(/01098765432|canary|wrong value/);
  },
);

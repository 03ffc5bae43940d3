import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { until } from '../../support/wait.ts';
import { ownRedis } from '../../support/own-redis.ts';
import { serviceEnv, emulatorWith } from '../../emulator/running.ts';

const PROGRAM = fileURLToPath(new URL('../support/library-worker.mjs', import.meta.url));

it.each([
  ['is away', 'SIGKILL'],
  ['is frozen', 'SIGSTOP'],
] as const)(
  'a program with a worker in it ends by itself after the stop while Redis %s',
  async (_, signal) => {
    const { server: redis } = await ownRedis();
    const emulator = await emulatorWith();
    const child = spawn(process.execPath, [PROGRAM], {
      env: {
        PATH: process.env['PATH'] ?? '',
        REDIS_URL: redis.url,
        ...serviceEnv(emulator.url),
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => {
      child.kill('SIGKILL');
    });
    let log = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (log += text));
    const logged = (event: string) => () => log.includes(`"event":"${event}"`);
    const exited = once(child, 'exit');
    await until(logged('started'), { what: 'the worker' });

    await redis.kill(signal);
    if (signal === 'SIGKILL') await until(logged('redis-trouble'), { what: 'the lost connection' });
    child.kill('SIGTERM');
    await until(logged('stopped'), { what: 'the end of the stop' });
    await until(() => child.exitCode !== null, {
      what: 'the end of the process',
      deadlineMs: 5_000,
    });
    expect(await exited).toEqual([0, null]);
  },
);

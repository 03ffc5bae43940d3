import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { waitForPong } from '../../scripts/redis/ping.ts';
import { localProgram, startRedisServer } from '../../scripts/redis/redis-server.ts';
import { until } from '../support/wait.ts';
import { temporaryFolder } from '../support/temporary.ts';

/** The built module: a child process has no loader for TypeScript on Node 20. */
const PARENT = `
  const { startRedisServer } = await import('./dist/scripts/redis/redis-server.js');
  const server = await startRedisServer();
  process.stdout.write(server.pid + '\\n');
  if (process.argv.includes('stay')) setInterval(() => {}, 1000);
`;

async function parentOfServer(then: 'exit' | 'stay') {
  const folder = temporaryFolder();
  const args = ['--input-type=module', '--eval', PARENT, then];
  const env = { ...process.env, TMPDIR: folder };
  const parent = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], env });
  let printed = '';
  parent.stdout.on('data', (data: Buffer) => (printed += data.toString()));
  await until(() => printed.endsWith('\n'), { what: 'the server', deadlineMs: 20_000 });
  return { parent, pid: Number(printed) };
}

/** An ended process whose end was not read yet (Linux' state Z) counts as ended. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return process.platform !== 'linux' || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

// What it does when it is killed, frozen and restarted is shown by the tests that do so.
describe.skipIf(localProgram() === undefined)('a Redis server of our own', () => {
  it('does not take another Redis on its port for its own, and says why it did not start', async () => {
    const theirs = await startRedisServer();
    onTestFinished(() => theirs.close());
    await expect(startRedisServer({ port: theirs.port })).rejects.toMatchObject({
      code: 'REDIS_MISSING',
      message: expect.stringMatching(
        /did not start .*(another server answers there|Address already in use)/s,
      ) as unknown,
    });
    expect(await waitForPong(theirs.url, { deadlineMs: 5_000 })).toBeUndefined();
  });

  it('ends with the process that started it', async () => {
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
});

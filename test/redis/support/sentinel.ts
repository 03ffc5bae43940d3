import { spawn } from 'node:child_process';
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { freePort } from '../../../scripts/redis/free-port.ts';
import { localProgram } from '../../../scripts/redis/redis-server.ts';
import { until } from '../../support/wait.ts';
import { temporaryFile, type AtEnd } from '../../support/temporary.ts';

/** Password of the Sentinels of {@link startSentinel}. */
export const SENTINEL_PASSWORD = 'sentinel-password';

/**
 * A Sentinel on loopback that ends with the test.
 *
 * @param main host and port of the master `main`, as it shall name them
 * @param settings further ones
 * @returns its port
 */
export async function runSentinel(
  main: string,
  settings: readonly string[],
  atEnd: AtEnd = onTestFinished,
): Promise<number> {
  const port = await freePort();
  const lines = [`port ${port}`, 'bind 127.0.0.1', `sentinel monitor main ${main} 1`, ...settings];
  const config = temporaryFile(`${lines.join('\n')}\n`, 'sentinel.conf', atEnd);
  const program = localProgram() ?? 'redis-server';
  const sentinel = spawn(program, [config, '--sentinel'], { stdio: 'ignore' });
  atEnd(() => void sentinel.kill('SIGKILL'));
  return port;
}

/** A Sentinel with a password, which names this address as the master `main`. @returns its port */
export async function startSentinel(masterPort: number, master = '127.0.0.1'): Promise<number> {
  const port = await runSentinel(`${master} ${masterPort}`, [`requirepass ${SENTINEL_PASSWORD}`]);
  const client = new Redis(port, '127.0.0.1', {
    password: SENTINEL_PASSWORD,
    enableReadyCheck: false,
  });
  client.on('error', () => {});
  onTestFinished(() => client.disconnect());
  await until(() => client.status === 'ready', { what: 'the Sentinel' });
  return port;
}

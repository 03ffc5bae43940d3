import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { freePort } from '../../../scripts/redis/free-port.ts';
import { localProgram } from '../../../scripts/redis/redis-server.ts';
import { until } from '../../support/wait.ts';

/** Password of the Sentinels of {@link startSentinel}. */
export const SENTINEL_PASSWORD = 'sentinel-password';

/** A Sentinel on loopback with a password, which names this address as the master `main`. @returns its port */
export async function startSentinel(masterPort: number, master = '127.0.0.1'): Promise<number> {
  const port = await freePort();
  const folder = mkdtempSync(path.join(tmpdir(), 'notices-sentinel-'));
  const config = path.join(folder, 'sentinel.conf');
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    `requirepass ${SENTINEL_PASSWORD}`,
    `sentinel monitor main ${master} ${masterPort} 1`,
  ];
  writeFileSync(config, `${lines.join('\n')}\n`);
  const sentinel = spawn(localProgram() ?? 'redis-server', [config, '--sentinel'], {
    stdio: 'ignore',
  });
  const client = new Redis(port, '127.0.0.1', {
    password: SENTINEL_PASSWORD,
    enableReadyCheck: false,
  });
  client.on('error', () => {});
  onTestFinished(() => {
    client.disconnect();
    sentinel.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  await until(() => client.status === 'ready', { what: 'the Sentinel' });
  return port;
}

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '../../../scripts/redis/free-port.ts';
import { startRedisServer } from '../../../scripts/redis/redis-server.ts';
import { startFaultProxy } from '../../support/fault-proxy.ts';
import { until } from '../../support/wait.ts';

/** How long a Sentinel must not have heard of the master before it takes it for dead. */
const DOWN_AFTER_MS = 1_000;

/** A master, a replica and a Sentinel on loopback; everybody reaches the master through a proxy. */
export interface CuttableSet {
  /** Leads workers to the present master. */
  readonly env: Readonly<Record<string, string>>;
  /** Of the first master. */
  readonly masterUrl: string;
  /** A connection that follows the master. */
  readonly client: Redis;
  /** Resolves when the replica has all that was written so far. */
  replicated(): Promise<void>;
  /** From now on nothing is replicated any more. */
  cutReplication(): Promise<void>;
  /** Kills the master, and waits until the replica is promoted. */
  killMaster(): Promise<void>;
  close(): Promise<void>;
}

export async function startCuttableSet(): Promise<CuttableSet> {
  const master = await startRedisServer();
  const proxy = await startFaultProxy(master.port);
  const replica = await startRedisServer({
    args: ['--replicaof', '127.0.0.1', String(proxy.port)],
  });
  const port = await freePort();
  const folder = mkdtempSync(path.join(tmpdir(), 'notices-sentinel-'));
  const config = path.join(folder, 'sentinel.conf');
  writeFileSync(
    config,
    [
      `port ${port}`,
      'bind 127.0.0.1',
      `sentinel monitor main 127.0.0.1 ${proxy.port} 1`,
      `sentinel down-after-milliseconds main ${DOWN_AFTER_MS}`,
      'sentinel failover-timeout main 5000',
      '',
    ].join('\n'),
  );
  const sentinel = spawn('redis-server', [config, '--sentinel'], { stdio: 'ignore' });
  const asked = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: null });
  asked.on('error', () => {});
  const knowsReplica = async () => {
    const replicas = (await asked.call('SENTINEL', 'REPLICAS', 'main')) as unknown[];
    return replicas.length === 1 && /state=online/.test(await client.info('replication'));
  };
  const client = new Redis({
    sentinels: [{ host: '127.0.0.1', port }],
    name: 'main',
    maxRetriesPerRequest: 0,
    commandTimeout: 1_000,
    sentinelRetryStrategy: () => 100,
    retryStrategy: () => 100,
  });
  client.on('error', () => {});
  await until(() => knowsReplica().catch(() => false), {
    what: 'the Sentinel to know the replica',
    deadlineMs: 30_000,
    everyMs: 100,
  });
  return {
    env: { REDIS_SENTINELS: `127.0.0.1:${port}`, REDIS_SENTINEL_NAME: 'main' },
    masterUrl: `redis://127.0.0.1:${proxy.port}`,
    client,
    replicated: async () => {
      await client.set('replicated', '1');
      const has = async () => (await client.wait(1, 500)) === 1;
      await until(() => has().catch(() => false), { what: 'the replica', deadlineMs: 30_000 });
    },
    cutReplication: async () => {
      // The text with which a replica asks for what it has missed.
      await proxy.place({ kind: 'cut', direction: 'up', when: 'PSYNC', bytes: 0 });
      await client.call('CLIENT', 'KILL', 'TYPE', 'replica');
    },
    killMaster: async () => {
      await master.kill('SIGKILL');
      const isPromoted = async () => {
        const [, found] = (await asked.call(
          'SENTINEL',
          'GET-MASTER-ADDR-BY-NAME',
          'main',
        )) as string[];
        return Number(found) === replica.port;
      };
      await until(() => isPromoted().catch(() => false), {
        what: 'the promotion of the replica',
        deadlineMs: 30_000,
      });
    },
    close: async () => {
      client.disconnect();
      asked.disconnect();
      sentinel.kill('SIGKILL');
      await replica.close();
      await proxy.close();
      await master.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

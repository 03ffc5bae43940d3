import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from '../../scripts/redis/free-port.ts';
import { startRedisServer, type RedisServer } from '../../scripts/redis/redis-server.ts';
import { until } from '../support/wait.ts';

async function asked<Answer>(url: string, ask: (redis: Redis) => Promise<Answer>): Promise<Answer> {
  const redis = new Redis(url, { maxRetriesPerRequest: 0 });
  redis.on('error', () => {});
  try {
    return await ask(redis);
  } finally {
    redis.disconnect();
  }
}

/** A master, a replica and a Sentinel on loopback. */
export interface SentinelSet {
  /** The options that lead a program to them. */
  readonly env: Readonly<Record<string, string>>;
  readonly master: RedisServer;
  readonly replica: RedisServer;
  /** The port of the present master, as the Sentinel says. */
  masterPort(): Promise<number>;
  close(): Promise<void>;
  /** Makes the replica the master, and waits until no client can write to the old one. */
  failover(): Promise<void>;
}

/**
 * @param args of both servers. By default a master without its replica refuses writes, so that a failover loses only
 *   what was on its way to the replica
 * @param portOf where the replica and all others reach the master: that of a proxy, or its own
 */
export async function startSentinelSet(
  args: readonly string[] = ['--min-replicas-to-write', '1'],
  portOf = ({ port }: RedisServer): Promise<number> => Promise.resolve(port),
): Promise<SentinelSet> {
  const master = await startRedisServer({ args });
  const masterAt = await portOf(master);
  const replica = await startRedisServer({
    args: [...args, '--replicaof', '127.0.0.1', String(masterAt)],
  });
  const port = await freePort();
  const folder = mkdtempSync(path.join(tmpdir(), 'notices-sentinel-'));
  const config = path.join(folder, 'sentinel.conf');
  writeFileSync(
    config,
    [
      `port ${port}`,
      'bind 127.0.0.1',
      `sentinel monitor main 127.0.0.1 ${masterAt} 1`,
      // Longer than the process of the test, which has the proxy to the master, ever stands still.
      'sentinel down-after-milliseconds main 5000',
      'sentinel failover-timeout main 5000',
      '',
    ].join('\n'),
  );
  const sentinel = spawn('redis-server', [config, '--sentinel'], { stdio: 'ignore' });
  const url = `redis://127.0.0.1:${port}`;
  const masterPort = async () =>
    asked(url, async (redis) => {
      const [, found] = (await redis.call(
        'SENTINEL',
        'GET-MASTER-ADDR-BY-NAME',
        'main',
      )) as string[];
      return Number(found);
    });
  const knowsReplica = async () =>
    asked(url, async (redis) => {
      const replicas = (await redis.call('SENTINEL', 'REPLICAS', 'main')) as unknown[];
      const link = await asked(replica.url, (server) => server.info('replication'));
      return replicas.length === 1 && /master_link_status:up/.test(link);
    });
  await until(() => knowsReplica().catch(() => false), {
    what: 'the Sentinel to know the replica',
    deadlineMs: 20_000,
    everyMs: 100,
  });
  return {
    env: { REDIS_SENTINELS: `127.0.0.1:${port}`, REDIS_SENTINEL_NAME: 'main' },
    master,
    replica,
    masterPort,
    failover: async () => {
      const before = await masterPort();
      await asked(url, (redis) => redis.call('SENTINEL', 'FAILOVER', 'main'));
      const old = before === master.port ? master : replica;
      const demoted = async () =>
        /role:slave/.test(await asked(old.url, (redis) => redis.info('replication')));
      const isDone = async () => (await masterPort()) !== before && (await demoted());
      // A demoted master closes its connections, including those of a pending check.
      await until(() => isDone().catch(() => false), {
        what: 'the failover',
        deadlineMs: 30_000,
      });
    },
    close: async () => {
      sentinel.kill('SIGKILL');
      await replica.close();
      await master.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

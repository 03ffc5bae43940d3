import { Redis } from 'ioredis';
import { startRedisServer, type RedisServer } from '../../scripts/redis/redis-server.ts';
import { until } from '../support/wait.ts';
import { runSentinel } from '../redis/support/sentinel.ts';

async function asked<Answer>(url: string, ask: (redis: Redis) => Promise<Answer>): Promise<Answer> {
  const redis = new Redis(url, { maxRetriesPerRequest: 0 });
  redis.on('error', () => {});
  try {
    return await ask(redis);
  } finally {
    redis.disconnect();
  }
}

export type SentinelSet = Awaited<ReturnType<typeof startSentinelSet>>;

/**
 * A master, a replica and a Sentinel on loopback.
 *
 * @param args of both servers. By default a master without its replica refuses writes, so that a failover loses only
 *   what was on its way to the replica
 * @param portOf where the replica and all others reach the master: that of a proxy, or its own
 */
export async function startSentinelSet(
  args: readonly string[] = ['--min-replicas-to-write', '1'],
  portOf = ({ port }: RedisServer): Promise<number> => Promise.resolve(port),
) {
  const master = await startRedisServer({ args });
  const masterAt = await portOf(master);
  const replica = await startRedisServer({
    args: [...args, '--replicaof', '127.0.0.1', String(masterAt)],
  });
  const ends: (() => unknown)[] = [];
  const port = await runSentinel(
    `127.0.0.1 ${masterAt}`,
    // Longer than the process of the test, which has the proxy to the master, ever stands still.
    ['sentinel down-after-milliseconds main 5000', 'sentinel failover-timeout main 5000'],
    (end) => ends.unshift(end),
  );
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
    /** The options that lead a program to them. */
    env: { REDIS_SENTINELS: `127.0.0.1:${port}`, REDIS_SENTINEL_NAME: 'main' } as Readonly<
      Record<string, string>
    >,
    master,
    replica,
    /** The port of the present master, as the Sentinel says. */
    masterPort,
    /** Makes the replica the master, and waits until no client can write to the old one. */
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
      await replica.close();
      await master.close();
      for (const end of ends) await end();
    },
  };
}

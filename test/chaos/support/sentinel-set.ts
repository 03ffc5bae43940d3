import { Redis } from 'ioredis';
import { startFaultProxy, type FaultProxy } from '../../support/fault-proxy.ts';
import { until } from '../../support/wait.ts';
import { startSentinelSet } from '../../topologies/servers.ts';

export type CuttableSet = Awaited<ReturnType<typeof startCuttableSet>>;

/** A master, a replica and a Sentinel on loopback; everybody reaches the master through a proxy. */
export async function startCuttableSet() {
  let proxy: FaultProxy | undefined;
  const set = await startSentinelSet([], async ({ port }) => {
    proxy = await startFaultProxy(port);
    return proxy.port;
  });
  const client = new Redis({
    sentinels: [{ host: '127.0.0.1', port: Number(set.env['REDIS_SENTINELS']?.split(':')[1]) }],
    name: 'main',
    maxRetriesPerRequest: 0,
    commandTimeout: 1_000,
    sentinelRetryStrategy: () => 100,
    retryStrategy: () => 100,
  });
  client.on('error', () => {});
  const soon = async (what: string, is: () => Promise<boolean>) => {
    await until(() => is().catch(() => false), { what, deadlineMs: 30_000 });
  };
  return {
    /** Leads workers to the present master. */
    env: set.env,
    /** The first one, and its address. */
    master: set.master,
    masterUrl: `redis://127.0.0.1:${proxy?.port}`,
    /** A connection that follows the master. */
    client,
    /** Resolves when the replica has all that was written so far. */
    replicated: () =>
      soon('the replica', async () => {
        await client.set('replicated', '1');
        return (await client.wait(1, 500)) === 1;
      }),
    /** From now on nothing is replicated any more. */
    cutReplication: async () => {
      // The text with which a replica asks for what it has missed.
      await proxy?.place({ kind: 'cut', direction: 'up', when: 'PSYNC', bytes: 0 });
      await client.call('CLIENT', 'KILL', 'TYPE', 'replica');
    },
    /** Kills the master, and waits until the replica is promoted. */
    killMaster: async () => {
      await set.master.kill('SIGKILL');
      const promoted = async () => (await set.masterPort()) === set.replica.port;
      await soon('the promotion of the replica', promoted);
    },
    close: async () => {
      client.disconnect();
      await set.close();
      await proxy?.close();
    },
  };
}

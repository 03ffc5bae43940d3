import { Redis, type Cluster } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../scripts/redis/free-port.ts';
import { startRedisServer } from '../../scripts/redis/redis-server.ts';
import { connectRedis, type RedisSettings } from '../../src/redis/connect.ts';
import { withRedis } from '../../src/redis/with-redis.ts';
import { tcpServer } from '../service/support/servers.ts';
import { until } from '../support/wait.ts';
import { SENTINEL_PASSWORD, startSentinel } from './support/sentinel.ts';

/** No name of this machine; what is sent there arrives here all the same. */
const ELSEWHERE = '0.0.0.0';
const PASSWORD = 'redis-password';

/** The server that a Sentinel or Cluster leads to; it notes what it gets. */
async function startMaster() {
  let text = '';
  const { port } = await tcpServer((socket) => {
    socket.on('data', (part: Buffer) => {
      text += part.toString('latin1');
    });
  });
  return { port, hasPassword: () => text.includes(PASSWORD) };
}

async function throughSentinel(masterPort: number): Promise<Partial<RedisSettings>> {
  const port = await startSentinel(masterPort, ELSEWHERE);
  const sentinels = [{ host: '127.0.0.1', port }];
  return { sentinels, sentinelName: 'main', sentinelPassword: SENTINEL_PASSWORD };
}

/** A node of a Cluster that names the server as the master of all slots. */
async function throughCluster(masterPort: number): Promise<Partial<RedisSettings>> {
  let port = await freePort();
  // The bus of a node listens 10,000 above its port.
  while (port >= 55_000) port = await freePort();
  const args = ['--cluster-enabled', 'yes', '--requirepass', PASSWORD];
  const announced = ['--cluster-announce-ip', ELSEWHERE, '--cluster-announce-port'];
  const node = await startRedisServer({ port, args: [...args, ...announced, String(masterPort)] });
  onTestFinished(() => node.close());
  const admin = new Redis(port, '127.0.0.1', { password: PASSWORD });
  await admin.call('CLUSTER', 'ADDSLOTS', ...Array.from({ length: 16_384 }, (_, slot) => slot));
  admin.disconnect();
  return { cluster: [{ host: '127.0.0.1', port }] };
}

function settingsOf(found: Partial<RedisSettings>): RedisSettings {
  const none = { sentinels: [], cluster: [], connectTimeoutMs: 1_000 };
  return { url: 'redis://127.0.0.1', password: PASSWORD, ...none, ...found };
}

function connect(settings: RedisSettings) {
  const errors: string[] = [];
  const opened: Redis | Cluster = connectRedis(settings, 'worker', (error) => {
    errors.push(error.message);
  });
  onTestFinished(() => opened.disconnect());
  return { opened, errors };
}

describe.each([
  ['Sentinel', throughSentinel],
  ['Cluster', throughCluster],
] as const)('a plain %s of this machine that leads to another one', (_, through) => {
  it('gets an error that names the address, which nothing is sent to', async () => {
    const master = await startMaster();
    const settings = settingsOf(await through(master.port));
    const { opened, errors } = connect(settings);
    const address = `${ELSEWHERE}:${master.port}`;
    const isNamed = () => errors.some((text) => text.includes(`leads to ${address} without TLS`));
    await until(() => isNamed() || master.hasPassword(), { what: 'an end' });
    expect(master.hasPassword()).toBe(false);
    // What asks once reports the same.
    const asked = withRedis(settings, 1_000, (redis) => redis.ping());
    await expect(asked).rejects.toThrow(`leads to ${address} without TLS`);
    // BullMQ makes further connections of ours.
    opened.disconnect();
    errors.length = 0;
    const further = opened instanceof Redis ? opened.duplicate() : opened.duplicate();
    further.on('error', (error: Error) => errors.push(error.message));
    onTestFinished(() => further.disconnect());
    await until(() => isNamed() || master.hasPassword(), { what: 'its end' });
    expect(master.hasPassword()).toBe(false);
  });

  it('leads there where INSECURE_HOSTS names the address', async () => {
    const master = await startMaster();
    const settings = { ...settingsOf(await through(master.port)), insecureHosts: [ELSEWHERE] };
    const { errors } = connect(settings);
    await until(master.hasPassword, { what: 'the password' });
    expect(errors).toEqual([]);
  });
});

import { describe, expect, it, onTestFinished } from 'vitest';
import { connectRedis, type RedisSettings } from '../../src/redis/connect.ts';
import { withRedis } from '../../src/redis/with-redis.ts';
import { tcpServer } from '../service/support/servers.ts';
import { until } from '../support/wait.ts';
import { SENTINEL_PASSWORD, startSentinel } from './support/sentinel.ts';

/** No name of this machine; what is sent there arrives here all the same. */
const ELSEWHERE = '0.0.0.0';
const PASSWORD = 'redis-password';

/** The server that a Sentinel leads to; it notes what it gets. */
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

function settingsOf(found: Partial<RedisSettings>): RedisSettings {
  const none = { sentinels: [], connectTimeoutMs: 1_000 };
  return { url: 'redis://127.0.0.1', password: PASSWORD, ...none, ...found };
}

function connect(settings: RedisSettings) {
  const errors: string[] = [];
  const opened = connectRedis(settings, 'worker', (error) => {
    errors.push(error.message);
  });
  onTestFinished(() => opened.disconnect());
  return { opened, errors };
}

describe('a plain Sentinel of this machine that leads to another one', () => {
  it('gets an error that names the address, which nothing is sent to', async () => {
    const master = await startMaster();
    const settings = settingsOf(await throughSentinel(master.port));
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
    const further = opened.duplicate();
    further.on('error', (error: Error) => errors.push(error.message));
    onTestFinished(() => further.disconnect());
    await until(() => isNamed() || master.hasPassword(), { what: 'its end' });
    expect(master.hasPassword()).toBe(false);
  });

  it('leads there where INSECURE_HOSTS names the address', async () => {
    const master = await startMaster();
    const settings = {
      ...settingsOf(await throughSentinel(master.port)),
      insecureHosts: [ELSEWHERE],
    };
    const { errors } = connect(settings);
    await until(master.hasPassword, { what: 'the password' });
    expect(errors).toEqual([]);
  });
});

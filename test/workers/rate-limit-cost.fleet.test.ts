import { withConstants } from '../support/constants.ts';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startRedisServer, type RedisServer } from '../../scripts/redis/redis-server.ts';
import { loadConfig } from '../../src/config/config.ts';
import { startEmulator, type Emulator } from '../../src/emulator/emulator.ts';
import { NoticeQueue } from '../../src/producer/notice-queue.ts';
import { keysOf, QUEUE_NAME } from '../../src/redis/keys.ts';
import { startWorker } from '../../workers/process/start-worker.ts';
import { numbers } from '../support/fleet.ts';
import { until } from '../support/wait.ts';
import { connectionAs } from '../support/redis-users.ts';

/** Commands by name, from the server's own statistics. */
type Commands = Readonly<Record<string, number>>;

const FEW = 100;
const MANY = 600;

/**
 * What a rate limit costs Redis, counted by the server: a worker with a limit that it does not reach, less one
 * without. What a worker costs without one is in steady-state.promise.test.ts.
 */
describe('a rate limit in force', () => {
  let server: RedisServer;
  let emulator: Emulator;
  let redis: Redis;
  let runs = 0;

  beforeAll(async () => {
    server = await startRedisServer();
    emulator = await startEmulator();
    redis = new Redis(server.url);
  });

  afterAll(async () => {
    redis.disconnect();
    await emulator.close();
    await server.close();
  });

  async function commands(): Promise<Commands> {
    const lines = (await redis.info('commandstats')).matchAll(/^cmdstat_(\S+):calls=(\d+)/gm);
    return Object.fromEntries([...lines].map(([, name, calls]) => [name ?? '', Number(calls)]));
  }

  async function cost(jobs: number, limit: string): Promise<Commands> {
    const prefix = `rate-limit-${(runs += 1)}`;
    const producer = new NoticeQueue({ redis: connectionAs('producer', server.url), prefix });
    await producer.sendMany(
      numbers(jobs).map((contact) => ({ templateCode: 'T', contacts: [{ contact }] })),
    );
    await producer.close();
    const { service, ...config } = loadConfig(
      withConstants({
        REDIS_URL: server.url,
        REDIS_PREFIX: prefix,
        BASE_URL: emulator.url,
        ACCESS_KEY: 'emulator-access-key',
        SECRET_KEY: 'emulator-secret-key',
        CONCURRENCY: '1',
        HEARTBEAT_MS: '60000',
        RATE_LIMIT: limit,
      }),
    );
    if (service === undefined) throw new Error('the configuration has no service');
    const before = await commands();
    const logger = pino({ level: 'silent' });
    const worker = await startWorker({
      config: { ...config, service },
      logger,
      abandoned: new AbortController().signal,
    });
    const done = `${keysOf(prefix, 'default').bullPrefix}:${QUEUE_NAME}:completed`;
    await until(async () => (await redis.zcard(done)) === jobs, {
      what: 'all done',
      everyMs: 50,
      deadlineMs: 30_000,
    });
    await worker?.stop();
    return subtract(await commands(), before);
  }

  const perSends = async (limit: string) =>
    subtract(await cost(MANY, limit), await cost(FEW, limit));

  it('costs a send a part of one round trip', async () => {
    // A server that is new to the scripts is sent their text once.
    await cost(1, '5000');
    const scripts = subtract(await perSends('5000'), await perSends('0'))['evalsha'] ?? 0;
    // On an idle machine one for twenty sends; the slower the sends, the fewer fit into a portion.
    // What a script does inside is counted in test/fleet/rate-limit/rate-limiter.integration.test.ts.
    expect(scripts).toBeGreaterThan(0);
    expect(scripts).toBeLessThanOrEqual((MANY - FEW) / 2);
  }, 120_000);
});

/** The difference of two counts, without what did not change. */
function subtract(left: Commands, right: Commands): Commands {
  return Object.fromEntries(
    [...new Set([...Object.keys(left), ...Object.keys(right)])]
      .map((name) => [name, (left[name] ?? 0) - (right[name] ?? 0)] as const)
      .filter(([, calls]) => calls !== 0),
  );
}

import { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from 'vitest';
import { startRedisServer, type RedisServer } from '../../../scripts/redis/redis-server.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { readWorkers } from '../../../src/fleet/heartbeat.ts';
import type { RedisFinding } from '../../../src/redis/suitability.ts';
import { run } from '../../cli/support/run.ts';
import { numbers, startFleet, type Fleet } from '../../support/fleet.ts';
import { heartbeats } from '../../support/heartbeats.ts';
import { until } from '../../support/wait.ts';

const PATIENCE = { deadlineMs: 30_000 };

describe('a fleet on a Redis that changes', () => {
  let server: RedisServer | undefined;
  let fleet: Fleet | undefined;
  let redis: Redis | undefined;

  afterEach(async () => {
    await fleet?.close();
    redis?.disconnect();
    await server?.close();
    fleet = undefined;
  });

  async function start(env: Readonly<Record<string, string>> = {}) {
    server = await startRedisServer();
    redis = new Redis(server.url);
    fleet = await startFleet({
      redisUrl: server.url,
      prefix: 'watch',
      processes: 1,
      env: { HEARTBEAT_MS: '200', ...env },
      emulator: { latencyMs: 50 },
    });
    return { fleet, redis };
  }

  const said = (on: Fleet, event: string) =>
    on.workers.flatMap(({ lines }) => lines.filter((line) => line.event === event));

  it('takes no further jobs while it evicts, logs that, and continues when it is fixed', async () => {
    const { fleet: on, redis } = await start();
    const keys = keysOf('watch', 'default');
    const evicts = () => said(on, 'redis-finding').filter(({ code }) => code === 'evicts');
    await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await until(() => evicts().length === 1, { what: 'the finding', ...PATIENCE });
    const unready = async () =>
      (await readWorkers(redis, keys))[0]?.unready?.map((one) => one.reason);
    await until(async () => (await unready())?.includes('redis-unsuitable'), {
      what: 'a heartbeat that says so',
      ...PATIENCE,
    });

    await on.sendEach(numbers(20));
    const status = await run(['status'], on.env);
    expect(status.stdout).toContain(
      'workers refuse to send: under memory pressure Redis would evict',
    );
    expect(status.stdout).toContain('not ready: Redis could lose notices');
    const json = JSON.parse((await run(['status', '--json'], on.env)).stdout) as {
      redis: { findings: RedisFinding[] };
    };
    expect(json.redis.findings.map(({ code }) => code)).toEqual(['evicts', 'not-persistent']);
    // Several checks of the monitor.
    await heartbeats(on, 15);
    expect(on.emulator.record().requests).toBe(0);
    expect(evicts()).toHaveLength(1);

    await redis.config('SET', 'maxmemory-policy', 'noeviction');
    await until(() => on.emulator.record().distinct === 20, { what: 'all sent', ...PATIENCE });
    expect(said(on, 'redis-finding-over').map(({ code }) => code)).toEqual(['evicts']);
    expect(on.emulator.record().twice).toBe(0);
    await until(async () => (await unready())?.length === 0, { what: 'ready again', ...PATIENCE });
  }, 90_000);

  it('checks at each new connection, and every second while it takes no jobs, whatever HEARTBEAT_MS', async () => {
    const { fleet: on, redis } = await start({ HEARTBEAT_MS: '1m' });
    await redis.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await until(() => said(on, 'redis-finding').some(({ code }) => code === 'evicts'), {
      what: 'the finding',
      ...PATIENCE,
    });
    await on.sendEach(numbers(5));
    await redis.config('SET', 'maxmemory-policy', 'noeviction');
    await until(() => on.emulator.record().distinct === 5, { what: 'all sent', ...PATIENCE });
    expect(on.emulator.record().twice).toBe(0);
  }, 90_000);
});

import { afterEach, describe, expect, it } from 'vitest';
import { freePort } from '../../scripts/redis/free-port.ts';
import { allAccepted } from '../../src/batch/ledger/settlement.ts';
import { ACCOUNT_HOLDS } from '../../src/metrics/fleet-table.ts';
import { NoticeQueue } from '../../src/producer/notice-queue.ts';
import { fleetMetrics } from '../../src/metrics/fleet-metrics.ts';
import { FLEET_METRICS } from '../../src/metrics/fleet-table.ts';
import { beat, endHeartbeat } from '../../src/fleet/heartbeat.ts';
import { connectRedis } from '../../src/redis/connect.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { buildBatch, contacts, part } from '../batch/support/built-batch.ts';
import { writeState } from '../token/support/write-state.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';
import { metricsLike, readExposition } from './exposition.ts';
import { ownRedis } from '../support/own-redis.ts';

describe('the metrics of the fleet', () => {
  const redis = testRedis();
  afterEach(() => redis.cleanup());

  function world() {
    const { prefix, keys } = redis.account();
    const metrics = fleetMetrics({ redis: redis.client, keys });
    return { prefix, keys, metrics, read: async () => readExposition(await metrics.text()) };
  }

  const worker = {
    host: 'h',
    pid: 1,
    active: 0,
    concurrency: 1,
    startedAt: 0,
    loopDelayMs: 0,
    pair: 'pair',
  };

  it('tell what waits and for how long, in both lanes', async () => {
    const { prefix, keys, read } = world();
    const queue = new NoticeQueue({ redis: connectionAs('producer', redis.url), prefix });
    const notice = { templateCode: 'T', contacts: contacts(1) };
    const { id } = await queue.send(notice);
    await queue.send(notice, { delay: 3_600_000 });
    await queue.send(notice, { priority: 3 });
    await queue.close();
    const job = keys.noticeJob(id);
    const timestamp = Number(await redis.client.hget(job, 'timestamp'));
    await redis.client.hset(job, 'timestamp', timestamp - 500_000);
    const { value } = await read();
    expect(value('notices_jobs', { lane: 'notices', state: 'waiting' })).toBe(2);
    expect(value('notices_jobs', { lane: 'notices', state: 'delayed' })).toBe(1);
    expect(value('notices_jobs', { lane: 'chunks', state: 'waiting' })).toBe(0);
    expect(value('notices_oldest_waiting_seconds', { lane: 'notices' })).toBeGreaterThanOrEqual(
      500,
    );
    expect(value('notices_oldest_waiting_seconds', { lane: 'chunks' })).toBe(0);
  });

  it('tell the hold in force, and zero for every other', async () => {
    const { keys, read } = world();
    const since = Date.now() - 90_000;
    const hold = { kind: 'credit', code: 'HTTP_402', since, next: since, round: 4 };
    await redis.client.hset(keys.hold, 'queue', JSON.stringify(hold));
    const { value, samples } = await read();
    expect(value('notices_held', { hold: 'credit' })).toBe(1);
    expect(value('notices_hold_seconds', { hold: 'credit' })).toBeGreaterThanOrEqual(89);
    expect(value('notices_hold_failed_probes')).toBe(4);
    const held = samples.filter(({ name }) => name === 'notices_held');
    expect(new Set(held.map(({ labels }) => labels['hold']))).toEqual(new Set(ACCOUNT_HOLDS));
    expect(held.reduce((sum, sample) => sum + sample.value, 0)).toBe(1);
  });

  it('tell batches, their contacts, the one that stands still, and what will be deleted', async () => {
    const { prefix, keys, read } = world();
    const done = await buildBatch(redis.client, prefix, 'done', [contacts(10)]);
    await done.settle(0, {
      accepted: 7,
      failed: [
        await part('rejected', 'BAD', contacts(2)),
        await part('unknown', 'HTTP_500', contacts(1)),
      ],
    });
    const open = await buildBatch(redis.client, prefix, 'open', [contacts(10), contacts(10, 10)]);
    await open.settle(0, allAccepted());
    const { movedAt } = await open.read();
    const { record } = keys.batch('open');
    await redis.client.hset(record, 'movedAt', movedAt - 700_000, 'begunAt', movedAt - 700_000);
    const { finishedAt, retentionMs } = await done.read();
    const before = await read();
    expect(before.value('notices_batches', { phase: 'finished' })).toBe(1);
    expect(before.value('notices_batches', { phase: 'sending' })).toBe(1);
    expect(before.value('notices_batches', { phase: 'paused' })).toBe(0);
    expect(before.value('notices_batch_contacts', { state: 'accepted' })).toBe(17);
    expect(before.value('notices_batch_contacts', { state: 'pending' })).toBe(10);
    expect(before.value('notices_batch_contacts', { state: 'unknown' })).toBe(1);
    expect(before.value('notices_unsent_contacts')).toBe(10);
    expect(before.value('notices_batch_standstill_seconds')).toBeGreaterThanOrEqual(700);
    expect(before.value('notices_batch_retention_contacts')).toBe(0);
    await redis.client.hset(keys.batch('done').record, 'finishedAt', finishedAt - retentionMs);
    expect((await read()).value('notices_batch_retention_contacts')).toBe(3);
  });

  it('tell workers, their versions, and notices that are unknown', async () => {
    const { keys, read } = world();
    const a = { ...worker, id: 'a', version: '1.0.0' };
    const memory = await beat(redis.client, keys, a, 60_000);
    await beat(redis.client, keys, { ...worker, id: 'b', version: '1.1.0' }, 60_000, memory);
    await redis.client.zadd(keys.endedIn('unknown'), 1, 'n-1', 2, 'n-2', 3, 'n-3');
    const { value } = await read();
    expect(value('notices_workers')).toBe(2);
    expect(value('notices_worker_versions')).toBe(2);
    expect(value('notices_unknown_notices')).toBe(3);
    await endHeartbeat(redis.client, keys, 'a', 60_000);
    await endHeartbeat(redis.client, keys, 'b', 60_000);
  });

  it('have the labels of their rows, and no value beyond the closed sets', async () => {
    const { keys, metrics } = world();
    const token = { id: '0123456789abcdef', ageMs: 5_000, fence: 1 };
    await writeState(redis.client, keys.token('pair'), { token });
    await beat(redis.client, keys, { ...worker, id: 'a', version: '1.0.0' }, 60_000);
    const names = metricsLike(FLEET_METRICS, await metrics.text());
    expect(names).toEqual(Object.keys(FLEET_METRICS).sort());
  });

  it('tell how Redis keeps notices', async () => {
    const { client } = await ownRedis();
    const metrics = fleetMetrics({ redis: client, keys: keysOf('p', 'default') });
    const read = async () => {
      const { value } = readExposition(await metrics.text());
      const names = ['memory_limit_bytes', 'evicts', 'aof', 'persistence_ok'];
      return names.map((name) => value(`notices_redis_${name}`));
    };
    const [machine = 0, ...kept] = await read();
    expect(kept).toEqual([0, 0, 1]);
    // Without a bound of its own, its machine is one.
    expect(machine).toBeGreaterThan(104_857_600);
    await client.config('SET', 'maxmemory', '100mb');
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await client.config('SET', 'appendonly', 'yes');
    expect(await read()).toEqual([104_857_600, 1, 1, 1]);
  });

  it('share one look where several ask at the same time', async () => {
    const { metrics } = world();
    const [one, other] = [metrics.text(), metrics.text()];
    expect(one).toBe(other);
    await one;
    expect(metrics.text()).not.toBe(one);
    await metrics.text();
  });

  it('say that Redis is away, and nothing else', async () => {
    const settings = {
      url: `redis://127.0.0.1:${await freePort()}`,
      sentinels: [],
      connectTimeoutMs: 500,
    };
    const away = connectRedis(settings, 'reader', () => {}, 500);
    const metrics = fleetMetrics({ redis: away, keys: keysOf('away', 'default') });
    try {
      const { samples } = readExposition(await metrics.text());
      expect(samples).toEqual([{ name: 'notices_redis_up', labels: {}, value: 0 }]);
    } finally {
      away.disconnect();
    }
  });
});

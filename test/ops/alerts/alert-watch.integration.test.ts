import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createAlertWatch } from '../../../src/ops/alerts/alert-watch.ts';
import { AlertStore } from '../../../src/ops/alerts/alert-store.ts';
import { Outbox } from '../../../src/ops/alerts/outbox.ts';
import { placeManualHold, liftManualHold } from '../../../src/fleet/hold/current-hold.ts';
import { connectRedis } from '../../../src/redis/connect.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { startReceiver } from './support/receiver.ts';

const redis = testRedis();
const WAIT = { deadlineMs: 20_000 };

/** Starts processes' worth of watches over one namespace, each with a connection of its own. */
async function world(quietMs = 0) {
  const keys = keysOf(redis.freshPrefix(), 'default');
  const receiver = await startReceiver();
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: 'info' }, { write: (line) => lines.push(JSON.parse(line) as never) });
  const start = (isWorker = false) => {
    const client = redis.connect({ name: 'alerts', forWorker: true });
    const watch = createAlertWatch(
      client,
      keys,
      {
        webhooks: { alerts: { url: receiver.url, secret: 'a secret of sixteen' } },
        failedNotices: 0,
        failedPercent: 0,
        quietMs,
        keepFailedMs: 604_800_000,
        queue: 'test:default',
        everyMs: 30,
        retryMs: 10,
      },
      log,
      isWorker,
    );
    void watch.start();
    let stopped: Promise<void> | undefined;
    const stop = () => (stopped ??= Promise.resolve(watch.stop()));
    onTestFinished(stop);
    return { stop };
  };
  return { keys, receiver, lines, start };
}

describe('the watch', () => {
  it('posts a hold that begins and ends, from one process however many look', async () => {
    const { keys, receiver, lines, start } = await world();
    for (let index = 0; index < 3; index++) start();
    await placeManualHold(redis.client, keys, 'CANARY of a reason');
    await until(() => receiver.names().includes('hold.begun'), { what: 'the begin', ...WAIT });
    await liftManualHold(redis.client, keys);
    await until(() => receiver.names().includes('hold.ended'), { what: 'the end', ...WAIT });
    expect(receiver.names()).toEqual(['hold.begun', 'hold.ended']);
    expect(new Set(receiver.received.map(({ alert }) => alert.id)).size).toBe(2);
    expect(receiver.received[0]?.alert).toMatchObject({ queue: 'test:default', version: 1 });
    expect(receiver.received[0]?.headers['notices-alert-id']).toBe(receiver.received[0]?.alert.id);
    expect(lines.filter(({ event }) => event === 'alerts-led')).toHaveLength(1);
    const told = JSON.stringify([lines, receiver.received.map(({ body }) => body)]);
    expect(told).not.toContain('CANARY');
    expect(told).not.toContain('a secret of sixteen');
  });

  it('tries again under the same id until it is taken, and then what waits behind it', async () => {
    const { keys, receiver, start } = await world();
    receiver.answer(503);
    start();
    await placeManualHold(redis.client, keys, 'why');
    await until(() => receiver.received.length >= 3, { what: 'three tries', ...WAIT });
    expect(new Set(receiver.received.map(({ alert }) => alert.id)).size).toBe(1);
    await liftManualHold(redis.client, keys);
    const outbox = new Outbox(redis.client, keys.alerts);
    await until(async () => (await outbox.waiting()) === 2, { what: 'both to wait', ...WAIT });
    const refused = receiver.received.length;
    receiver.answer(204);
    await until(async () => (await outbox.waiting()) === 0, { what: 'all to be posted', ...WAIT });
    expect(receiver.names().slice(-2)).toEqual(['hold.begun', 'hold.ended']);
    expect(receiver.received.length).toBeGreaterThanOrEqual(refused + 2);
  });

  it('goes on where a leader ended: what was not posted is posted, what was told is not told again', async () => {
    const { keys, receiver, start } = await world();
    receiver.answer(503);
    const first = start();
    await placeManualHold(redis.client, keys, 'why');
    await until(() => receiver.received.length > 0, { what: 'a try', ...WAIT });
    const id = receiver.received[0]?.alert.id;
    await first.stop();
    expect(await redis.client.exists(keys.alerts.lease)).toBe(0);
    receiver.answer(204);
    const taken = receiver.received.length;
    start();
    await until(() => receiver.received.length > taken, { what: 'the next try', ...WAIT });
    await liftManualHold(redis.client, keys);
    await until(() => receiver.names().includes('hold.ended'), { what: 'the end', ...WAIT });
    const ids = receiver.received.map(({ alert }) => alert.id);
    expect(new Set(ids).size).toBe(2);
    expect(ids.slice(0, -1).every((one) => one === id)).toBe(true);
  });

  it('takes over from a leader that died: its lease ends by itself', async () => {
    const { keys, receiver, start } = await world();
    // A process that is gone holds the lease.
    const dead = new AlertStore(redis.client, keys);
    await dead.lead();
    start();
    await placeManualHold(redis.client, keys, 'why');
    await redis.client.pexpire(keys.alerts.lease, 1);
    await until(() => receiver.names().includes('hold.begun'), { what: 'the alert', ...WAIT });
    expect(receiver.names()).toEqual(['hold.begun']);
  });

  it('of a worker that stops says that none is left, though the receiver is away, and the next posts it', async () => {
    const { keys, receiver, start } = await world();
    receiver.answer((response) => response.destroy());
    await redis.client.lpush(`${keys.bullPrefix}:send:wait`, 'a job');
    const last = start(true);
    await until(() => redis.client.exists(keys.alerts.memory), { what: 'the first look', ...WAIT });
    await last.stop();
    receiver.answer(204);
    start(true);
    await until(() => receiver.names().includes('workers.back'), { what: 'the return', ...WAIT });
    const names = receiver.names().filter((name, index, all) => name !== all[index - 1]);
    expect(names).toEqual(['workers.none', 'workers.back']);
  });

  it('stops in time while Redis is away', async () => {
    const { receiver } = await world();
    const keys = keysOf(redis.freshPrefix(), 'default');
    const settings = { url: redis.url, sentinels: [], cluster: [], connectTimeoutMs: 1_000 };
    const client = connectRedis({ ...settings, url: 'redis://127.0.0.1:1' }, 'worker', () => {});
    const watch = createAlertWatch(
      client,
      keys,
      {
        webhooks: { alerts: { url: receiver.url, secret: 'a secret of sixteen' } },
        failedNotices: 0,
        failedPercent: 0,
        quietMs: 0,
        keepFailedMs: 1,
        queue: 'q',
        everyMs: 10,
      },
      pino({ level: 'silent' }),
      true,
    );
    await watch.start();
    const begun = performance.now();
    await watch.stop();
    // Its bound is three seconds.
    expect(performance.now() - begun).toBeLessThan(15_000);
    client.disconnect();
  });
});

import { beforeEach, describe, expect, it } from 'vitest';
import { keysOf, type Keys } from '../../../src/redis/keys.ts';
import { fleetOn, numbers, type Fleet } from '../../support/fleet.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';

const PATIENCE = { deadlineMs: 30_000 };
const ENV = { HEARTBEAT_MS: '200' };

/**
 * The list of active jobs is of the wrong type: every fetch fails, while the connections are well and
 * jobs wait. So a worker certainly stalls, for a reason that no other check detects.
 */
describe('a stalled worker process', () => {
  const redis = testRedis();
  let keys: Keys;
  let prefix = '';

  beforeEach(() => {
    prefix = redis.freshPrefix();
    keys = keysOf(prefix, 'default');
  });

  async function start(env: Readonly<Record<string, string>> = {}): Promise<Fleet> {
    await redis.client.set(keys.noticeJob('active'), 'no list');
    return fleetOn(redis, { prefix, env: { ...ENV, ...env } });
  }

  it('logs it and ends with code 1; the next one sends the waiting notices, once', async () => {
    const on = await start();
    await on.sendEach(numbers(5));
    const [worker] = on.workers;
    expect(await worker?.ended).toBe(1);
    const events = worker?.lines.map(({ event }) => event) ?? [];
    expect(events.filter((event) => event === 'standing-still')).toHaveLength(1);
    expect(events.filter((event) => event === 'stalled')).toHaveLength(1);
    expect(on.emulator.record().distinct).toBe(0);

    await redis.client.del(keys.noticeJob('active'));
    await on.addWorker();
    await until(() => on.emulator.record().distinct === 5, { what: 'all sent', ...PATIENCE });
    expect(on.emulator.record().twice).toBe(0);
  }, 60_000);

  it('does not end while it has an answer that Redis refuses to record', async () => {
    const on = await fleetOn(redis, {
      prefix,
      env: {
        ...ENV,
        CONCURRENCY: '1',
        LOCK_DURATION_MS: '9000',
        SEND_DEADLINE_MS: '2400',
        ANSWER_TIMEOUT_MS: '2000',
        CONNECT_TIMEOUT_MS: '400',
        ISSUE_DEADLINE_MS: '2400',
        SHUTDOWN_TIMEOUT_MS: '2500',
      },
    });
    on.emulator.addFault({ on: 'send', latencyMs: 700 });
    await on.sendEach(numbers(2));
    await until(() => on.emulator.record().requests === 1, { what: 'the first request' });
    await redis.client.config('SET', 'min-replicas-to-write', '1');
    try {
      await until(() => on.attempts().length === 1, { what: 'its answer' });
      // The lock lasts longer than the time in which a stalled worker would have ended.
      await until(async () => (await redis.client.keys(keys.noticeLock('*'))).length === 0, {
        what: 'the lock to end',
        ...PATIENCE,
      });
    } finally {
      await redis.client.config('SET', 'min-replicas-to-write', '0');
    }
    await on.addWorker();
    await until(async () => (await redis.client.zcard(keys.noticeJob('completed'))) === 2, {
      what: 'both to be done',
      ...PATIENCE,
    });
    expect(on.emulator.record().twice).toBe(0);
    expect(on.workers[0]?.gone).toBe(false);
    expect(on.workers[0]?.lines.map(({ event }) => event)).not.toContain('stalled');
  }, 60_000);
});

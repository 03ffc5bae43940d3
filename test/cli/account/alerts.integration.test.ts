import { describe, expect, it, vi } from 'vitest';
import { placeManualHold } from '../../../src/fleet/hold/current-hold.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { startReceiver } from '../../ops/alerts/support/receiver.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { startProcess } from '../support/process.ts';
import { errorOf, run } from '../support/run.ts';

// Each of them starts several processes, one after the other.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const redis = testRedis();
const SECRET = 'CANARY-of-sixteen';

describe('notices alerts test', () => {
  it('posts a signed alert, and ends with 1 where it is not taken', async () => {
    const receiver = await startReceiver();
    const env = { ALERT_WEBHOOK_URL: receiver.url, ALERT_WEBHOOK_SECRET: SECRET };
    const taken = await run(['alerts', 'test'], env);
    expect([taken.code, taken.stderr]).toEqual([0, '']);
    expect(taken.stdout).toMatch(/^The receiver accepted the alert \S+ \(HTTP 204\)\.$/m);
    expect(receiver.received[0]?.alert).toMatchObject({ event: 'test', queue: 'notices:default' });
    expect(receiver.received[0]?.headers['notices-signature']).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/);
    receiver.answer(401);
    const refused = await run(['alerts', 'test', '--json'], env);
    expect(refused.code).toBe(1);
    expect(JSON.parse(refused.stdout)).toMatchObject({ taken: false, why: 'HTTP_401' });
    expect(taken.stdout + refused.stdout + refused.stderr).not.toContain('CANARY');
  });

  it('says what to set where nothing is', async () => {
    const ended = await run(['alerts', 'test', '--json']);
    expect([ended.code, errorOf(ended).code]).toEqual([2, 'CONFIG_INVALID']);
    expect(errorOf(ended).message).toContain('ALERT_WEBHOOK_URL');
    const events = await run(['alerts', 'test', '--webhook', 'events', '--json']);
    expect([events.code, errorOf(events).message]).toEqual([
      2,
      expect.stringContaining('EVENT_WEBHOOK_URL'),
    ]);
  });
});

describe('notices alerts watch', () => {
  it('tells without any worker, and stops in order', async () => {
    const receiver = await startReceiver();
    const prefix = redis.freshPrefix();
    const watching = startProcess(['alerts', 'watch'], {
      REDIS_URL: redis.url,
      REDIS_PREFIX: prefix,
      ALERT_WEBHOOK_URL: receiver.url,
      ALERT_WEBHOOK_SECRET: SECRET,
    });
    await watching.says(/"event":"alerts-led"/);
    await placeManualHold(redis.client, keysOf(prefix, 'default'), 'why');
    await until(() => receiver.names().includes('hold.begun'), {
      what: 'the alert',
      deadlineMs: 30_000,
    });
    watching.stop('SIGTERM');
    expect((await watching.ended).code).toBe(0);
  });
});

describe('notices alerts test --webhook events', () => {
  it('posts to the event webhook, and names its variables where there is none', async () => {
    const receiver = await startReceiver();
    const env = { EVENT_WEBHOOK_URL: receiver.url, EVENT_WEBHOOK_SECRET: SECRET };
    expect((await run(['alerts', 'test', '--webhook', 'events'], env)).code).toBe(0);
    expect(receiver.names()).toEqual(['test']);
    const refused = await run(['alerts', 'test', '--json'], env);
    expect([refused.code, errorOf(refused).message]).toEqual([
      2,
      expect.stringContaining('ALERT_WEBHOOK_URL'),
    ]);
  });
});

describe('notices alerts list and replay', () => {
  it('shows what waits and what was posted, and posts it again', async () => {
    const prefix = redis.freshPrefix();
    const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
    const empty = await run(['alerts', 'list'], env);
    expect(empty.stdout).toBe('Nothing waits, and nothing was posted.\n');
    const { events } = keysOf(prefix, 'default');
    const at = '2026-11-01T00:00:00.000Z';
    const alert = { id: 'alert-1', event: 'notices.ended', title: 'one ended', at };
    await redis.client.xadd(events.posted, '*', 'alert', JSON.stringify(alert), 'as', 'posted');
    const replayed = await run(['alerts', 'replay', 'alert-1'], env);
    expect([replayed.code, replayed.stdout]).toEqual([
      0,
      'alert-1 is posted again to the webhook of events, after what waits for it.\n',
    ]);
    const listed = await run(['alerts', 'list', '--json'], env);
    expect(JSON.parse(listed.stdout)).toEqual([
      { webhook: 'events', ...alert, as: 'waiting' },
      { webhook: 'events', ...alert, as: 'posted' },
    ]);
    expect((await run(['alerts', 'list'], env)).stdout).toMatch(
      /^2026-11-01T\S+ +events +waiting/m,
    );
  });

  it.each(['alert-none', '*', '한국어'])('replays no %s: exit code 2', async (id) => {
    const env = { REDIS_URL: redis.url, REDIS_PREFIX: redis.freshPrefix() };
    const ended = await run(['alerts', 'replay', id], env);
    expect([ended.code, ended.stderr]).toEqual([
      2,
      expect.stringContaining(`No alert or event with the id ${id} is kept.`),
    ]);
  });
});

import { describe, expect, it, vi } from 'vitest';
import { placeManualHold } from '../../../src/fleet/hold/hold-gate.ts';
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

import { describe, expect, it } from 'vitest';
import { liftManualHold } from '../../src/fleet/hold/hold-scripts.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { numbers, type Fleet } from '../support/fleet.ts';
import { until } from '../support/wait.ts';
import { holdingFleet } from './support/holding-fleet.ts';

const APP = { accessKey: 'emulator-access-key', secretKey: 'emulator-secret-key' };
const keysOn = (on: Fleet) => keysOf(on.env['REDIS_PREFIX'] ?? '', 'default');

describe('keys that are corrected while the fleet is held', () => {
  const { redis, start, hold } = holdingFleet();

  /** A fleet that has been refused so often that the next try is far away. */
  async function refused(env: Readonly<Record<string, string>>): Promise<Fleet> {
    const on = await start(2, {
      HOLD_PROBE_MIN_MS: '2000',
      HOLD_PROBE_MAX_MS: '600000',
      ...env,
    });
    await on.sendEach(numbers(20));
    await until(async () => ((await hold(on))?.failedProbes ?? 0) >= 3, {
      what: 'three failed probes',
      deadlineMs: 40_000,
    });
    return on;
  }

  async function sentWithin(on: Fleet, ms: number): Promise<void> {
    await until(() => on.emulator.record().distinct === 20, {
      what: `everything sent within ${ms} ms`,
      deadlineMs: ms,
    });
    expect(on.emulator.record()).toMatchObject({ twice: 0 });
  }

  it('lifted by a person: a token is asked for at once', async () => {
    const on = await refused({ SECRET_KEY: 'another' });
    on.emulator.setApp({ ...APP, secretKey: 'another' });
    expect(await liftManualHold(redis.client, keysOn(on))).toBe('credentials');
    await sentWithin(on, 3_000);
  }, 90_000);

  it('a worker with another key pair tries it at once', async () => {
    const on = await refused({ SECRET_KEY: 'wrong' });
    for (const worker of on.workers) worker.kill('SIGTERM');
    await Promise.all(on.workers.map(({ ended }) => ended));
    expect((await hold(on))?.kind).toBe('credentials');
    const before = on.emulator.issuances().length;
    await on.addWorker({ SECRET_KEY: 'wrong' });
    // The same key pair waits as before.
    expect(on.emulator.issuances()).toHaveLength(before);
    await on.addWorker({ SECRET_KEY: APP.secretKey });
    await sentWithin(on, 5_000);
  }, 90_000);
});

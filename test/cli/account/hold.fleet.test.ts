import { describe, expect, it } from 'vitest';
import { fleetOn, numbers } from '../../support/fleet.ts';
import { testRedis } from '../../support/redis.ts';
import { heartbeats } from '../../support/heartbeats.ts';
import { until } from '../../support/wait.ts';
import { run } from '../support/run.ts';

describe('notices hold', () => {
  const redis = testRedis();

  const freshEnv = () => ({ REDIS_URL: redis.url, REDIS_PREFIX: redis.freshPrefix() });

  it('holds a fleet by hand, whatever probes would say, until it is lifted by hand', async () => {
    const env = freshEnv();
    const on = await fleetOn(redis, {
      prefix: env.REDIS_PREFIX,
      processes: 2,
      env: { HOLD_PROBE_MIN_MS: '100', HEARTBEAT_MS: '300' },
    });
    const placed = await run(['hold', 'place', '--why', 'new template under review'], env);
    expect(placed).toMatchObject({ code: 0, stderr: '' });

    await on.sendEach(numbers(50));
    const shown = await run(['hold'], env);
    expect(shown.stdout).toContain('manual (new template under review)');
    expect(shown.stdout).not.toContain('probe');
    // A hold that came by itself would have been probed many times by now.
    await heartbeats(on, 5);
    expect(on.emulator.record().requests).toBe(0);
    const status = await run(['status', '--json'], env);
    expect(JSON.parse(status.stdout)).toMatchObject({ hold: { kind: 'manual' } });

    expect(await run(['hold', 'lift'], env)).toMatchObject({ code: 0 });
    await until(() => on.emulator.record().distinct === 50, { what: 'all sent' });
    expect(on.emulator.record().twice).toBe(0);
    expect(on.attempts().every(({ attempt }) => attempt === 1)).toBe(true);
  }, 60_000);
});

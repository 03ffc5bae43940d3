import { describe, expect, it } from 'vitest';
import type { RateLimitStatus } from '../../../src/fleet/rate-limit/rate-limit-state.ts';
import { describeRateLimit } from '../../../src/cli/account/rate-limit.ts';
import { testRedis } from '../../support/redis.ts';
import { errorOf, run, STACK } from '../support/run.ts';

describe('notices pace', () => {
  const redis = testRedis();
  const freshEnv = () => ({ REDIS_URL: redis.url, REDIS_PREFIX: redis.freshPrefix() });

  const paceOf = async (env: Readonly<Record<string, string>>): Promise<RateLimitStatus | null> => {
    const { code, stdout, stderr } = await run(['pace', '--json'], env);
    expect([code, stderr]).toEqual([0, '']);
    return (JSON.parse(stdout) as { pace: RateLimitStatus | null }).pace;
  };

  it('sets, shows and gives back, and the audit stream says who and why', async () => {
    const env = freshEnv();
    expect(await paceOf(env)).toBeNull();
    expect(await redis.keys(env.REDIS_PREFIX)).toEqual([]);

    const set = await run(['pace', '50', '--why', 'campaign at noon'], env);
    expect(set).toMatchObject({ code: 0, stderr: '' });
    expect(set.stdout).toBe('50 send calls a second, set by hand\n');
    expect(await paceOf(env)).toEqual({ configured: 0, byHand: 50, now: 50 });
    const status = await run(['status', '--json'], env);
    expect(JSON.parse(status.stdout)).toMatchObject({ pace: { byHand: 50, now: 50 } });

    expect((await run(['pace', 'off'], env)).stdout).toBe('no limit, set by hand\n');
    expect((await run(['pace', 'default'], env)).stdout).toBe('no limit\n');
    expect(await paceOf(env)).toBeNull();

    const { stdout } = await run(['audit', '--json'], env);
    const common = { who: expect.stringContaining('@') as string, what: 'pace', target: 'queue' };
    expect(JSON.parse(stdout)).toMatchObject([
      { ...common, as: 'default', why: '' },
      { ...common, as: 'off', why: '' },
      { ...common, as: '50', why: 'campaign at noon' },
    ]);
  }, 120_000);

  it('shows the configured pace, and why it is lower', async () => {
    const env = { ...freshEnv(), RATE_LIMIT: '40' };
    expect((await run(['pace'], env)).stdout).toBe('40 send calls a second\n');
    const now = Date.now();
    await redis.client.hset(`{${env.REDIS_PREFIX}:default}:pace`, {
      configured: 40,
      fellAt: now - 60_000,
      fellFor: 'x',
      fellFrom: '40.000',
      fellTo: '20.000',
      risesFrom: now + 3_600_000,
      recoveryMs: 120_000,
    });
    const words = await run(['status'], env);
    expect(words.stdout).toMatch(
      /^pace +20 of 40 send calls a second: 429 \d+ (s|min) ago at 40 a second; back at 40 in 6[01] min$/m,
    );
    expect(await paceOf(env)).toMatchObject({ now: 20, fall: { from: 40, to: 20 } });
    // A pace set by hand is in force at once.
    await run(['pace', '30'], env);
    expect(await paceOf(env)).toEqual({ configured: 40, byHand: 30, now: 30 });
  }, 120_000);

  it.each([
    [['pace', '0'], 'whole number from 1'],
    [['pace', 'fast'], 'whole number from 1'],
    [['pace', '1.5'], 'whole number from 1'],
    [['pace', '100001'], 'whole number from 1'],
    [['pace', '50', '60'], 'too many arguments'],
    [['pace', '50', '--why', ' '], '--why'],
    [['pace', '--why', 'x'], '--why'],
  ])('%j is wrong usage and sets nothing', async (args, named) => {
    const env = freshEnv();
    const ended = await run([...args, '--json'], env);
    expect(ended.code).toBe(2);
    expect(errorOf(ended).message).toContain(named);
    expect(ended.stderr).not.toMatch(STACK);
    expect(await redis.keys(env.REDIS_PREFIX)).toEqual([]);
  });
});

describe('describeRateLimit', () => {
  const NOW = 1_000_000;
  const fall = { at: NOW - 5_000, from: 40, to: 20, risesFrom: NOW, recoveryMs: 100_000 };

  it.each<[RateLimitStatus | undefined, string]>([
    [undefined, 'no limit'],
    [{ configured: 40, now: 40 }, '40 send calls a second'],
    [{ configured: 40, manual: 0 }, 'no limit, set by hand'],
    // A fall that is over.
    [{ configured: 40, now: 40, fall }, '40 send calls a second'],
    [{ configured: 0, fall }, 'no limit'],
    [
      { configured: 0, now: 20.04, fall, lowUntil: NOW + 75_000 },
      '20 send calls a second: 429 5 s ago at 40 a second; no limit again in 75 s',
    ],
    [
      { configured: 10, manual: 40, now: 22.55, fall, lowUntil: NOW + 50_000 },
      '22.6 of 40 send calls a second, set by hand: 429 5 s ago at 40 a second; back at 40 in 50 s',
    ],
  ])('%j', (pace, text) => {
    expect(describeRateLimit(pace, NOW)).toBe(text);
  });
});

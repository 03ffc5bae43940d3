import { describe, expect, it } from 'vitest';
import type { RateLimitStatus } from '../../../src/fleet/rate-limit/rate-limit-state.ts';
import { describeRateLimit } from '../../../src/ops/operations/hold.ts';
import { testRedis } from '../../support/redis.ts';
import { run } from '../support/run.ts';

describe('notices rate-limit', () => {
  const redis = testRedis();
  const freshEnv = () => ({ REDIS_URL: redis.url, REDIS_PREFIX: redis.freshPrefix() });

  const limitOf = async (
    env: Readonly<Record<string, string>>,
  ): Promise<RateLimitStatus | null> => {
    const { code, stdout, stderr } = await run(['rate-limit', '--json'], env);
    expect([code, stderr]).toEqual([0, '']);
    return (JSON.parse(stdout) as { rateLimit: RateLimitStatus | null }).rateLimit;
  };

  it('sets and resets the rate limit, as the audit stream has it', async () => {
    const env = freshEnv();
    expect(await limitOf(env)).toBeNull();
    for (const [line, says] of [
      ['rate-limit 50 --why noon', '50 send requests per second, set manually\n'],
      ['rate-limit off', 'no limit, set manually\n'],
      ['rate-limit default', 'no limit\n'],
    ] as const) {
      expect(await run(line, env)).toEqual({ code: 0, stdout: says, stderr: '' });
    }
    expect(await limitOf(env)).toBeNull();
    const { entries } = JSON.parse((await run('audit --json', env)).stdout) as {
      entries: object[];
    };
    expect(entries).toMatchObject([{ as: 'default' }, { as: 'off' }, { as: '50', why: 'noon' }]);
  });

  it('shows the configured rate limit, and why it is lower', async () => {
    const env = { ...freshEnv(), RATE_LIMIT: '40' };
    expect((await run(['rate-limit'], env)).stdout).toBe('40 send requests per second\n');
    const now = Date.now();
    await redis.client.hset(`{${env.REDIS_PREFIX}:default}:rate-limit`, {
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
      /^rate limit +20 of 40 send requests per second: 429 \d+ (s|min) ago \([^)]* UTC\) at 40\/s; back at 40 in 6[01] min \([^)]* UTC\)$/m,
    );
    expect(await limitOf(env)).toMatchObject({ now: 20, fall: { from: 40, to: 20 } });
    // A pace set manually is in force at once.
    await run(['rate-limit', '30'], env);
    expect(await limitOf(env)).toEqual({ configured: 40, manual: 30, now: 30 });
  }, 120_000);
});

describe('describeRateLimit', () => {
  const NOW = 1_000_000;
  const fall = { at: NOW - 5_000, from: 40, to: 20, risesFrom: NOW, recoveryMs: 100_000 };

  it.each<[RateLimitStatus | undefined, string]>([
    [undefined, 'no limit'],
    [{ configured: 40, now: 40 }, '40 send requests per second'],
    [{ configured: 40, manual: 0 }, 'no limit, set manually'],
    // A decrease that is over.
    [{ configured: 40, now: 40, fall }, '40 send requests per second'],
    [{ configured: 0, fall }, 'no limit'],
    [
      { configured: 0, now: 20.04, fall, lowUntil: NOW + 75_000 },
      '20 send requests per second: 429 5 s ago (00:16:35 UTC) at 40/s; no limit again in 75 s (00:17:55 UTC)',
    ],
    [
      { configured: 10, manual: 40, now: 22.55, fall, lowUntil: NOW + 50_000 },
      '22.6 of 40 send requests per second, set manually: 429 5 s ago (00:16:35 UTC) at 40/s; back at 40 in 50 s (00:17:30 UTC)',
    ],
  ])('%j', (pace, text) => {
    expect(describeRateLimit(pace, NOW)).toBe(text);
  });
});

import { beforeEach, describe, expect, it } from 'vitest';
import { boundWaits, placeManualHold, readHold } from '../../../src/fleet/hold/holds.ts';
import { readTemplateHolds } from '../../../src/fleet/hold/holds.ts';
import { HoldGate } from '../../../src/fleet/hold/hold-gate.ts';
import { decreaseRateLimit, takePermits } from '../../../src/fleet/rate-limit/rate-limit-state.ts';
import { redisTime } from '../../../src/redis/server-clock.ts';
import { Hints } from '../../../src/redis/hints.ts';
import { keysOf, type Keys } from '../../../src/redis/keys.ts';
import { testRedis } from '../../support/redis.ts';
import { stepClockBack } from '../../support/step-back.ts';

const HOUR_MS = 3_600_000;
const SETTINGS = { holdProbeMinMs: 200, holdProbeMaxMs: 1_000, retryAfterMaxMs: 60_000 };

describe('after the clock of Redis went back an hour', () => {
  const redis = testRedis();
  let keys: Keys;
  let gate: HoldGate;

  beforeEach(() => {
    keys = keysOf(redis.freshPrefix(), 'default');
    gate = new HoldGate({
      redis: redis.client,
      hints: new Hints(redis.connect({ name: 'hints', forWorker: true })),
      keys,
      id: 'process',
      settings: SETTINGS,
      now: () => Date.now(),
      othersAccepted: () => Promise.resolve(false),
      onMove: () => {},
      onAside: () => {},
      onTemplateHeld: () => {},
    });
  });

  const back = () => stepClockBack(redis.client, keys, HOUR_MS);
  const bound = () => boundWaits(redis.client, keys, true);
  const now = () => redisTime(redis.client);
  const limiters = () =>
    Promise.all([keys.limiter, keys.chunkLimiter].map((key) => redis.client.pttl(key)));

  it('a hold is probed at once, and open batches and stalled jobs are looked for', async () => {
    await gate.place('throttled', 'HTTP_429', 5_000);
    await redis.client.zadd(keys.openBatches, (await now()) + 10_000, 'batch');
    for (const check of keys.stalledChecks) await redis.client.set(check, '1', 'PX', 5_000);
    await back();
    await bound();
    expect((await readHold(redis.client, keys))?.nextProbeAt).toBeLessThanOrEqual(await now());
    expect(await limiters()).toEqual([-2, -2]);
    const dueAt = Number(await redis.client.zscore(keys.openBatches, 'batch'));
    expect(dueAt).toBeLessThanOrEqual(await now());
    expect(await redis.client.exists(...keys.stalledChecks)).toBe(0);
  });

  it('a start lets what waits too long come at once, and leaves what it finds in time', async () => {
    const started = () => boundWaits(redis.client, keys, false);
    await gate.place('throttled', 'HTTP_429', 5_000);
    await gate.holdTemplate('T\n', 'template', 'HTTP_400');
    const before = await redis.client.hgetall(keys.hold);
    expect([await started(), await redis.client.hgetall(keys.hold)]).toEqual([false, before]);
    expect(Math.min(...(await limiters()))).toBeGreaterThan(0);
    await back();
    expect(await started()).toBe(true);
    expect((await readHold(redis.client, keys))?.nextProbeAt).toBeLessThanOrEqual(await now());
    expect(await limiters()).toEqual([-2, -2]);
    const [held] = await readTemplateHolds(redis.client, keys);
    expect(held?.nextProbeAt).toBeLessThanOrEqual(await now());
    expect(await started()).toBe(false);
  });

  it('a rate limit neither blocks the lanes nor stays low', async () => {
    const decrease = () =>
      decreaseRateLimit(
        redis.client,
        [keys.rateLimit, keys.hold, keys.workers],
        [80, 1, 0.5, 3_600_000, 0, keys.rateLimitHints],
      );
    const take = () =>
      takePermits(redis.client, [keys.rateLimit, keys.limiter, keys.chunkLimiter], [80, 1]);
    expect(await decrease()).toEqual({ from: 80, to: 40 });
    await redis.client.hset(keys.rateLimit, 'nextAt', (await now()) + 1_500);
    expect(await take()).toMatchObject({ kind: 'none' });
    await back();
    expect(Math.min(...(await limiters()))).toBeGreaterThan(HOUR_MS - 1_000);
    await bound();
    expect(await limiters()).toEqual([-2, -2]);
    await take();
    const risesFrom = Number(await redis.client.hget(keys.rateLimit, 'risesFrom'));
    expect(risesFrom).toBeLessThanOrEqual(await now());
    expect((await decrease())?.to).toBeCloseTo(20, 0);
  });

  it('a hold of a person stays', async () => {
    await placeManualHold(redis.client, keys, 'a test');
    await back();
    await bound();
    expect(await readHold(redis.client, keys)).toMatchObject({ kind: 'manual' });
    expect(Math.min(...(await limiters()))).toBeGreaterThan(HOUR_MS);
  });
});

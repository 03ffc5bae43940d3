import { beforeEach, describe, expect, it } from 'vitest';
import { boundWaits, placeManualHold, readHold } from '../../../src/fleet/hold/hold-scripts.ts';
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
  const bound = () => boundWaits(redis.client, keys);
  const place = (forMs: number) => gate.place('throttled', 'HTTP_429', forMs);
  const untilProbe = async () =>
    ((await readHold(redis.client, keys))?.nextProbeAt ?? NaN) - (await redisTime(redis.client));
  const limiters = () =>
    Promise.all([keys.limiter, keys.chunkLimiter].map((key) => redis.client.pttl(key)));

  it('a hold lasts no longer than it was to last, and workers may then fetch', async () => {
    await place(5_000);
    await back();
    await bound();
    for (const rest of [await untilProbe(), ...(await limiters())]) {
      expect(rest).toBeGreaterThan(3_000);
      expect(rest).toBeLessThanOrEqual(5_001);
    }
  });

  it('the lanes are not blocked for a rate limit that sets its keys anew', async () => {
    await redis.client.hset(keys.rateLimit, 'nextAt', (await redisTime(redis.client)) + 1_500);
    const from = [keys.rateLimit, keys.limiter, keys.chunkLimiter];
    expect(await takePermits(redis.client, from, [1, 1])).toMatchObject({ kind: 'none' });
    await back();
    expect(Math.min(...(await limiters()))).toBeGreaterThan(HOUR_MS - 1_000);
    await bound();
    expect(await limiters()).toEqual([-2, -2]);
  });

  it('a rate limit decreases and rises again', async () => {
    const decrease = () =>
      decreaseRateLimit(
        redis.client,
        [keys.rateLimit, keys.hold, keys.workers],
        [80, 1, 0.5, 3_600_000, 0, keys.rateLimitHints],
      );
    expect(await decrease()).toEqual({ from: 80, to: 40 });
    await back();
    await takePermits(redis.client, [keys.rateLimit, keys.limiter, keys.chunkLimiter], [80, 1]);
    const risesFrom = Number(await redis.client.hget(keys.rateLimit, 'risesFrom'));
    expect(risesFrom).toBeLessThanOrEqual(await redisTime(redis.client));
    expect((await decrease())?.to).toBeCloseTo(20, 0);
  });

  it('open batches and stalled jobs are looked for at once', async () => {
    await redis.client.zadd(keys.openBatches, (await redisTime(redis.client)) + 10_000, 'batch');
    await redis.client.set(keys.stalledChecks[0], '1', 'PX', 5_000);
    await redis.client.set(keys.stalledChecks[1], '1', 'PX', 5_000);
    await back();
    await bound();
    const dueAt = Number(await redis.client.zscore(keys.openBatches, 'batch'));
    expect(dueAt).toBeLessThanOrEqual(await redisTime(redis.client));
    expect(await redis.client.exists(...keys.stalledChecks)).toBe(0);
  });

  it('a hold of a person stays', async () => {
    await placeManualHold(redis.client, keys, 'a test');
    await back();
    await bound();
    expect(await readHold(redis.client, keys)).toMatchObject({ kind: 'manual' });
    expect(Math.min(...(await limiters()))).toBeGreaterThan(HOUR_MS);
  });

  it('nothing changes that lasts as long as it should', async () => {
    await place(5_000);
    const before = await redis.client.hgetall(keys.hold);
    await bound();
    expect(await redis.client.hgetall(keys.hold)).toEqual(before);
    expect(Math.min(...(await limiters()))).toBeGreaterThan(3_000);
  });
});

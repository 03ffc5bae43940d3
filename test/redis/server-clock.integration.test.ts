import { afterEach, describe, expect, it, vi } from 'vitest';
import { ServerClock } from '../../src/redis/server-clock.ts';
import { testRedis } from '../support/redis.ts';

/** Half of a round trip on a busy machine. */
const NEAR_MS = 400;

describe('the clock of Redis', () => {
  const redis = testRedis();

  afterEach(() => {
    vi.useRealTimers();
  });

  async function redisNow(): Promise<number> {
    const [seconds, microseconds] = await redis.client.time();
    return Number(seconds) * 1_000 + Number(microseconds) / 1_000;
  }

  it('is the wall clock before it was read', () => {
    const clock = new ServerClock(redis.client);
    expect(Math.abs(clock.now() - Date.now())).toBeLessThan(NEAR_MS);
    expect(Math.abs(clock.aheadMs)).toBeLessThan(NEAR_MS);
  });

  it('goes on right however wrong the wall clock is', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 120_000 });
    const clock = new ServerClock(redis.client);
    await clock.read();
    expect(Math.abs(clock.now() - (await redisNow()))).toBeLessThan(NEAR_MS);
    expect(Math.abs(clock.aheadMs - 120_000)).toBeLessThan(NEAR_MS);
    vi.setSystemTime(Date.now() - 240_000);
    expect(Math.abs(clock.now() - (await redisNow()))).toBeLessThan(NEAR_MS);
    expect(Math.abs(clock.aheadMs + 120_000)).toBeLessThan(NEAR_MS);
  });

  it.each([0, 1])('does not believe an answer that took long, after %d others', async (others) => {
    const clock = new ServerClock(redis.client);
    if (others > 0) await clock.read();
    const admin = redis.connect();
    await admin.client('PAUSE', 2_500, 'ALL');
    await clock.read();
    expect(Math.abs(clock.now() - (await redisNow()))).toBeLessThan(NEAR_MS);
  });
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decreaseRateLimit,
  REACH_MS,
  takePermits,
} from '../../../src/fleet/rate-limit/rate-limit-scripts.ts';
import {
  effectiveRateLimit,
  readRateLimit,
  readRateLimitState,
  type RateLimitState,
} from '../../../src/fleet/rate-limit/rate-limit-state.ts';
import { keysOf, type Keys } from '../../../src/redis/keys.ts';
import { testRedis } from '../../support/redis.ts';

describe('the scripts of the rate limit', () => {
  const redis = testRedis();
  const freshKeys = () => keysOf(redis.freshPrefix(), 'default');

  const take = (keys: Keys, configured: number, wanted: number) =>
    takePermits(
      redis.client,
      [keys.rateLimit, keys.limiter, keys.chunkLimiter],
      [configured, wanted],
    );

  const decrease = (keys: Keys, configured: number, sent = 0) =>
    decreaseRateLimit(
      redis.client,
      [keys.rateLimit, keys.hold, keys.workers],
      [configured, 1, 0.5, 3_600_000, sent, keys.rateLimitHints],
    );

  /** Redis time in milliseconds. */
  async function now(): Promise<number> {
    const [seconds, micros] = await redis.client.time();
    return Number(seconds) * 1_000 + Number(micros) / 1_000;
  }

  it('compute the same limit as the pages', async () => {
    const base = await now();
    const fields = fc.record({
      configured: fc.nat(2_000),
      manual: fc.option(fc.nat(2_000)),
      fall: fc.option(
        fc.record({
          ago: fc.integer({ min: -1_000, max: 200_000 }),
          from: fc.double({ min: 0.1, max: 2_000, noNaN: true }),
          part: fc.double({ min: 0.1, max: 0.99, noNaN: true }),
          recoveryMs: fc.integer({ min: 1_000, max: 1_000_000 }),
        }),
      ),
    });
    await fc.assert(
      fc.asyncProperty(fields, async ({ configured, manual, fall }) => {
        const keys = freshKeys();
        const kept: Record<string, string> = { configured: String(configured) };
        if (manual !== null) kept['manual'] = String(manual);
        if (fall !== null) {
          Object.assign(kept, {
            fellAt: base.toFixed(3),
            fellFor: '1',
            fellFrom: fall.from.toFixed(3),
            fellTo: (fall.from * fall.part).toFixed(3),
            risesFrom: (base - fall.ago).toFixed(3),
            recoveryMs: String(fall.recoveryMs),
          });
        }
        await redis.client.hset(keys.rateLimit, kept);
        const state: RateLimitState = readRateLimitState(kept, 0);
        const before = await now();
        const permits = await take(keys, configured, 1);
        const after = await now();
        // A limit only rises with time, so the script's own is between the two.
        const [least, most] = [effectiveRateLimit(state, before), effectiveRateLimit(state, after)];
        if (permits.kind === 'none') throw new Error('the first permit is beyond reach');
        const rate = permits.kind === 'unlimited' ? Infinity : 1_000 / permits.gapMs;
        // The gap is rounded to thousandths of a millisecond.
        expect(rate).toBeGreaterThanOrEqual((least ?? Infinity) * 0.995 - 0.001);
        expect(rate).toBeLessThanOrEqual((most ?? Infinity) * 1.005 + 0.001);
      }),
      { numRuns: 200 },
    );
  }, 60_000);

  it('never issue permits closer than the limit allows, for any callers, counts and order', async () => {
    // Redis runs concurrent calls in some order. Each caller may have another RATE_LIMIT, as in the
    // middle of a rolling restart.
    const step = fc.record({
      limit: fc.integer({ min: 1, max: 3_000 }),
      wanted: fc.integer({ min: 1, max: 300 }),
      decreases: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
        const keys = freshKeys();
        let [earliestNext, lastAt] = [-Infinity, -Infinity];
        for (const { limit, wanted, decreases } of steps) {
          if (decreases) await decrease(keys, limit);
          const permits = await take(keys, limit, wanted);
          if (permits.kind !== 'permits') continue;
          const { count, gapMs, firstInMs } = permits;
          const nextAt = Number(await redis.client.hget(keys.rateLimit, 'nextAt'));
          const firstAt = nextAt - count * gapMs;
          expect(count).toBeLessThanOrEqual(wanted);
          expect(gapMs).toBeGreaterThanOrEqual(1_000 / limit - 0.001);
          expect(firstInMs).toBeLessThanOrEqual(REACH_MS);
          // A rounding of half a thousandth for each permit, and of the times themselves.
          expect(firstAt).toBeGreaterThanOrEqual(earliestNext - 0.01 - count * 0.001);
          expect(firstAt).toBeGreaterThan(lastAt);
          earliestNext = nextAt;
          lastAt = nextAt - gapMs;
        }
      }),
      { numRuns: 50 },
    );
  }, 60_000);

  it('leave some permits for the last caller, until none is left within reach', async () => {
    const keys = freshKeys();
    const counts: number[] = [];
    let last = await take(keys, 100, 1_000);
    for (; last.kind === 'permits'; last = await take(keys, 100, 1_000)) counts.push(last.count);
    // A tenth of a second's worth, then a quarter of what is left, at last one by one.
    expect(counts[0]).toBe(10);
    expect(counts.at(-1)).toBe(1);
    expect(Math.max(...counts)).toBe(10);
    expect(counts.length).toBeGreaterThanOrEqual(20);
    expect(last.kind).toBe('none');
  });

  it('block the lanes while the next permit is beyond reach, and never shorten a hold', async () => {
    const keys = freshKeys();
    // BullMQ's own counter of one lane, and a hold on the other.
    await redis.client.set(keys.limiter, '3', 'PX', 60_000);
    const blocked = String(Number.MAX_SAFE_INTEGER);
    await redis.client.set(keys.chunkLimiter, blocked, 'PX', 60_000);
    // On one connection, so that they follow each other at once.
    const takeAndLook = () =>
      Promise.all([
        take(keys, 1, 1),
        redis.client.get(keys.limiter),
        redis.client.pttl(keys.limiter),
        redis.client.pttl(keys.chunkLimiter),
      ]);
    let [permits, notices, noticesMs, chunksMs] = await takeAndLook();
    while (permits.kind !== 'none') [permits, notices, noticesMs, chunksMs] = await takeAndLook();
    expect(permits.inMs).toBeGreaterThan(REACH_MS);
    expect(notices).toBe(blocked);
    expect(noticesMs).toBeGreaterThan(0);
    expect(noticesMs).toBeLessThanOrEqual(REACH_MS * 1.5);
    expect(chunksMs).toBeGreaterThan(30_000);
  });

  it('continue after the clock went back', async () => {
    const keys = freshKeys();
    await redis.client.hset(keys.rateLimit, 'nextAt', String((await now()) + 3_600_000));
    expect(await take(keys, 10, 1)).toMatchObject({ kind: 'permits', firstInMs: 0 });
  });

  it('store the limit that the workers are configured with, for status and pages', async () => {
    const keys = freshKeys();
    expect(await take(keys, 0, 1)).toEqual({ kind: 'unlimited' });
    expect(await redis.client.exists(keys.rateLimit)).toBe(0);
    await take(keys, 40, 1);
    expect(await readRateLimit(redis.client, keys, 0)).toEqual({ configured: 40, now: 40 });
    expect(await take(keys, 0, 1)).toEqual({ kind: 'unlimited' });
    expect(await readRateLimit(redis.client, keys, 40)).toBeUndefined();
  });

  it('decrease once for each hold, from the limit in effect', async () => {
    const keys = freshKeys();
    const hold = async (since: number, nextProbeAt: number) => {
      await redis.client.hset(keys.hold, { kind: 'throttled', since, nextProbeAt });
    };
    const since = Math.floor(await now());
    await hold(since, since + 10_000);
    expect(await decrease(keys, 80)).toMatchObject({ decreased: true, from: 80, to: 40 });
    expect(await decrease(keys, 80)).toMatchObject({
      decreased: false,
      from: 80,
      to: 40,
    });
    // A probe of it failed: the rise starts later, and the limit is the same.
    await hold(since, since + 20_000);
    expect(await decrease(keys, 80)).toMatchObject({ decreased: false, from: 80, to: 40 });
    const shown = await readRateLimit(redis.client, keys, 80);
    expect(shown).toMatchObject({ now: 40, fall: { risesFrom: since + 20_000 } });

    await hold(since + 1, since + 20_000);
    expect(await decrease(keys, 80)).toMatchObject({ decreased: true, from: 40, to: 20 });
  });

  it('do not decrease below the floor', async () => {
    const keys = freshKeys();
    for (let time = 0; time < 10; time++) {
      await redis.client.hset(keys.hold, { since: time, nextProbeAt: 0 });
      await decrease(keys, 3);
    }
    expect((await readRateLimit(redis.client, keys, 3))?.fall?.to).toBe(1);
  });

  it('without a limit, decrease from the rate of all processes together', async () => {
    const keys = freshKeys();
    await redis.client.hset(keys.hold, { since: 5, nextProbeAt: 0 });
    await redis.client.zadd(keys.workers, 1, 'one', 1, 'two');
    expect(await decrease(keys, 0, 50)).toEqual({ decreased: true, from: 100, to: 50 });
    expect(await readRateLimit(redis.client, keys, 0)).toMatchObject({
      configured: 0,
      fall: { from: 100, to: 50 },
    });
    expect((await take(keys, 0, 1)).kind).toBe('permits');
  });
});

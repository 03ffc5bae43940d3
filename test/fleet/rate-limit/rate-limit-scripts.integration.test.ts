import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decreaseRateLimit,
  REACH_MS,
  takePermits,
  reportRate,
} from '../../../src/fleet/rate-limit/rate-limit-scripts.ts';
import {
  effectiveRateLimit,
  readRateLimit,
  readRateLimitState,
  type RateLimitState,
} from '../../../src/fleet/rate-limit/rate-limit-state.ts';
import { keysOf, type Keys } from '../../../src/redis/keys.ts';
import { testRedis } from '../../support/redis.ts';

describe('the scripts of the pace', () => {
  const redis = testRedis();
  const freshKeys = () => keysOf(redis.freshPrefix(), 'default');

  const take = (keys: Keys, configured: number, wanted: number) =>
    takePermits(
      redis.client,
      [keys.rateLimit, keys.limiter, keys.chunkLimiter],
      [configured, wanted],
    );

  const fall = (keys: Keys, configured: number, observed = 0, by = 'one') =>
    decreaseRateLimit(
      redis.client,
      [keys.rateLimit, keys.hold],
      [configured, 1, 0.5, 3_600_000, observed, by, keys.rateLimitHints],
    );

  /** Redis time in milliseconds. */
  async function now(): Promise<number> {
    const [seconds, micros] = await redis.client.time();
    return Number(seconds) * 1_000 + Number(micros) / 1_000;
  }

  it('compute the same pace as the pages', async () => {
    const base = await now();
    const fields = fc.record({
      configured: fc.nat(2_000),
      byHand: fc.option(fc.nat(2_000)),
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
      fc.asyncProperty(fields, async ({ configured, byHand, fall }) => {
        const keys = freshKeys();
        const kept: Record<string, string> = { configured: String(configured) };
        if (byHand !== null) kept['byHand'] = String(byHand);
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
        const slots = await take(keys, configured, 1);
        const after = await now();
        // A pace only rises with time, so the script's own lies between the two.
        const [least, most] = [effectiveRateLimit(state, before), effectiveRateLimit(state, after)];
        if (slots.kind === 'far') throw new Error('the first slot lies beyond reach');
        const rate = slots.kind === 'free' ? Infinity : 1_000 / slots.gapMs;
        // The gap is told in thousandths of a millisecond.
        expect(rate).toBeGreaterThanOrEqual((least ?? Infinity) * 0.995 - 0.001);
        expect(rate).toBeLessThanOrEqual((most ?? Infinity) * 1.005 + 0.001);
      }),
      { numRuns: 200 },
    );
  }, 60_000);

  it('never hand out slots closer than the pace allows, whoever asks, for however many, in any order', async () => {
    // What runs at the same time is some order for Redis. Each asker may be told another PACE, as
    // in the middle of a rolling restart.
    const step = fc.record({
      pace: fc.integer({ min: 1, max: 3_000 }),
      wanted: fc.integer({ min: 1, max: 300 }),
      falls: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
        const keys = freshKeys();
        let [earliestNext, lastAt] = [-Infinity, -Infinity];
        for (const { pace, wanted, falls } of steps) {
          if (falls) await fall(keys, pace);
          const slots = await take(keys, pace, wanted);
          if (slots.kind !== 'slots') continue;
          const { count, gapMs, firstInMs } = slots;
          const nextAt = Number(await redis.client.hget(keys.rateLimit, 'nextAt'));
          const firstAt = nextAt - count * gapMs;
          expect(count).toBeLessThanOrEqual(wanted);
          expect(gapMs).toBeGreaterThanOrEqual(1_000 / pace - 0.001);
          expect(firstInMs).toBeLessThanOrEqual(REACH_MS);
          // A rounding of half a thousandth for each slot, and of the times themselves.
          expect(firstAt).toBeGreaterThanOrEqual(earliestNext - 0.01 - count * 0.001);
          expect(firstAt).toBeGreaterThan(lastAt);
          earliestNext = nextAt;
          lastAt = nextAt - gapMs;
        }
      }),
      { numRuns: 50 },
    );
  }, 60_000);

  it('leave some for the last to ask, until nothing is left within reach', async () => {
    const keys = freshKeys();
    const counts: number[] = [];
    let last = await take(keys, 100, 1_000);
    for (; last.kind === 'slots'; last = await take(keys, 100, 1_000)) counts.push(last.count);
    // A tenth of a second's worth, then a quarter of what is left, at last one by one.
    expect(counts[0]).toBe(10);
    expect(counts.at(-1)).toBe(1);
    expect(Math.max(...counts)).toBe(10);
    expect(counts.length).toBeGreaterThanOrEqual(20);
    expect(last.kind).toBe('far');
  });

  it('let the lanes stand while the next slot lies beyond reach, and never shorten a hold', async () => {
    const keys = freshKeys();
    // BullMQ's own counter of one lane, and a hold on the other.
    await redis.client.set(keys.limiter, '3', 'PX', 60_000);
    const stands = String(Number.MAX_SAFE_INTEGER);
    await redis.client.set(keys.chunkLimiter, stands, 'PX', 60_000);
    // On one connection, so that they follow each other at once.
    const takeAndLook = () =>
      Promise.all([
        take(keys, 1, 1),
        redis.client.get(keys.limiter),
        redis.client.pttl(keys.limiter),
        redis.client.pttl(keys.chunkLimiter),
      ]);
    let [slots, notices, noticesMs, chunksMs] = await takeAndLook();
    while (slots.kind !== 'far') [slots, notices, noticesMs, chunksMs] = await takeAndLook();
    expect(slots.inMs).toBeGreaterThan(REACH_MS);
    expect(notices).toBe(stands);
    expect(noticesMs).toBeGreaterThan(0);
    expect(noticesMs).toBeLessThanOrEqual(REACH_MS * 1.5);
    expect(chunksMs).toBeGreaterThan(30_000);
  });

  it('go on when a clock went back', async () => {
    const keys = freshKeys();
    await redis.client.hset(keys.rateLimit, 'nextAt', String((await now()) + 3_600_000));
    expect(await take(keys, 10, 1)).toMatchObject({ kind: 'slots', firstInMs: 0 });
  });

  it('remember which pace the workers were told, for whoever looks', async () => {
    const keys = freshKeys();
    expect(await take(keys, 0, 1)).toEqual({ kind: 'free' });
    expect(await redis.client.exists(keys.rateLimit)).toBe(0);
    await take(keys, 40, 1);
    expect(await readRateLimit(redis.client, keys, 0)).toEqual({ configured: 40, now: 40 });
    expect(await take(keys, 0, 1)).toEqual({ kind: 'free' });
    expect(await readRateLimit(redis.client, keys, 40)).toBeUndefined();
  });

  it('fall once for each hold, from what is in force', async () => {
    const keys = freshKeys();
    const hold = async (since: number, nextProbeAt: number) => {
      await redis.client.hset(keys.hold, { kind: 'throttled', since, nextProbeAt });
    };
    const begun = Math.floor(await now());
    await hold(begun, begun + 10_000);
    expect(await fall(keys, 80)).toMatchObject({ fell: true, from: 80, to: 40 });
    expect(await fall(keys, 80, 0, 'two')).toMatchObject({ fell: false, from: 80, to: 40 });
    // A probe of it failed: the rise begins later, and the pace is the same.
    await hold(begun, begun + 20_000);
    expect(await fall(keys, 80)).toMatchObject({ fell: false, from: 80, to: 40 });
    const shown = await readRateLimit(redis.client, keys, 80);
    expect(shown).toMatchObject({ now: 40, fall: { risesFrom: begun + 20_000 } });

    await hold(begun + 1, begun + 20_000);
    expect(await fall(keys, 80)).toMatchObject({ fell: true, from: 40, to: 20 });
  });

  it('do not fall below the floor', async () => {
    const keys = freshKeys();
    for (let time = 0; time < 10; time++) {
      await redis.client.hset(keys.hold, { since: time, nextProbeAt: 0 });
      await fall(keys, 3);
    }
    expect((await readRateLimit(redis.client, keys, 3))?.fall?.to).toBe(1);
  });

  it('without a pace, fall from what the processes sent together', async () => {
    const keys = freshKeys();
    await redis.client.hset(keys.hold, { since: 5, nextProbeAt: 0 });
    expect(await fall(keys, 0, 60)).toEqual({ fell: true, from: 60, to: 30, observed: true });
    const tell = (cause: string, rate: number) =>
      reportRate(redis.client, [keys.rateLimit], [cause, 1, 0.5, rate, keys.rateLimitHints]);
    expect(await tell('5', 40)).toBe(1);
    // Of a fall before: too late.
    expect(await tell('4', 1_000)).toBe(0);
    expect(await readRateLimit(redis.client, keys, 0)).toMatchObject({
      configured: 0,
      fall: { from: 100, to: 50 },
    });
    expect((await take(keys, 0, 1)).kind).toBe('slots');
  });
});

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decreaseRateLimit,
  REACH_MS,
  readRateLimit,
  takePermits,
} from '../../../src/fleet/rate-limit/rate-limit-state.ts';
import type { Keys } from '../../../src/redis/keys.ts';
import { testRedis } from '../../support/redis.ts';

describe('the scripts of the rate limit', () => {
  const redis = testRedis();
  const freshKeys = () => redis.account().keys;

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

  /** From 40 to 20, rising from ten seconds later on; from nothing to 40 it would take 100 s. */
  const FALL = { from: 40, to: 20 };
  const LOW_MS = 60_000;

  it.each<
    [
      string,
      state: { configured?: number; manual?: number; fall?: typeof FALL },
      afterMs: number,
      inForce: number | undefined,
      lowForMs?: number,
    ]
  >([
    ['nothing set', {}, 0, undefined],
    ['configured', { configured: 40 }, 0, 40],
    ['manual, instead of the configured one', { configured: 40, manual: 50 }, 0, 50],
    ['manual, with none configured', { manual: 50 }, 0, 50],
    ['switched off manually', { configured: 40, manual: 0 }, 0, undefined],

    ['set: right after the decrease', { configured: 40, fall: FALL }, 0, 20, LOW_MS],
    ['set: during the hold', { configured: 40, fall: FALL }, 9_000, 20, LOW_MS - 9_000],
    ['set: half way', { configured: 40, fall: FALL }, 35_000, 30, LOW_MS - 35_000],
    ['set: recovered', { configured: 40, fall: FALL }, 60_000, 40],
    ['set: long after', { configured: 40, fall: FALL }, 1e9, 40],
    ['set: the decrease was from a higher limit', { configured: 10, fall: FALL }, 0, 10, 10_000],
    ['set: it rises to that', { configured: 400, fall: FALL }, 35_000, 120, 70_000],
    ['set: from any rate', { configured: 9, fall: { from: 9, to: 4 } }, 0, 4, 65_555],

    ['not set: right after the decrease', { fall: FALL }, 0, 20, 85_000],
    ['not set: half way', { fall: FALL }, 35_000, 30, 50_000],
    ['not set: beyond what was refused', { fall: FALL }, 80_000, 48, 5_000],
    ['not set: a quarter beyond it', { fall: FALL }, 85_000, undefined],
    ['not set: too little was sent', { fall: { from: 9.9, to: 5 } }, 10_000, undefined],
    ['not set: just enough', { fall: { from: 10, to: 5 } }, 0, 5, 85_000],
    ['switched off, then decreased', { configured: 40, manual: 0, fall: FALL }, 35_000, 30, 50_000],
    ['a clock that went back', { configured: 40, fall: FALL }, -3_600_000, 20, 3_660_000],
  ])('have one limit in force: %s', async (_name, state, afterMs, inForce, lowForMs) => {
    const { configured = 0, manual, fall } = state;
    const keys = freshKeys();
    const at = (await now()) - afterMs;
    await redis.client.hset(keys.rateLimit, {
      configured,
      ...(manual === undefined ? {} : { manual }),
      ...(fall === undefined
        ? {}
        : {
            fellAt: at.toFixed(3),
            fellFrom: fall.from,
            fellTo: fall.to,
            risesFrom: (at + 10_000).toFixed(3),
            recoveryMs: 100_000,
          }),
    });
    const status = await readRateLimit(redis.client, keys, 0);
    const lowForS = ((status?.lowUntil ?? NaN) - at - afterMs) / 1_000;
    expect(Math.round(status?.now ?? NaN)).toBe(inForce ?? NaN);
    expect(Math.round(lowForS)).toBe(lowForMs === undefined ? NaN : Math.round(lowForMs / 1_000));
    // The same as for permits, before they end the wait for a probe of which there is no hold.
    if (afterMs < 10_000 || inForce === undefined) return;
    expect(await take(keys, configured, 1)).toMatchObject({ kind: 'permits' });
    expect((await readRateLimit(redis.client, keys, 0))?.now).toBeCloseTo(inForce, 0);
  });

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
    expect(notices).toBe(blocked);
    expect(noticesMs).toBeGreaterThan(0);
    expect(noticesMs).toBeLessThanOrEqual(REACH_MS * 1.5);
    expect(chunksMs).toBeGreaterThan(30_000);
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
    const holdFor = async (ms: number) => {
      const nextProbeAt = Math.floor((await now()) + ms);
      await redis.client.hset(
        keys.hold,
        'queue',
        JSON.stringify({ kind: 'throttled', next: nextProbeAt }),
      );
      return nextProbeAt;
    };
    await holdFor(10_000);
    expect(await decrease(keys, 80)).toEqual({ from: 80, to: 40 });
    expect(await decrease(keys, 80)).toBeUndefined();
    // A probe of it failed: the rise starts later, and the limit is the same.
    const risesFrom = await holdFor(20_000);
    expect(await decrease(keys, 80)).toBeUndefined();
    const shown = await readRateLimit(redis.client, keys, 80);
    expect(shown).toMatchObject({ now: 40, fall: { risesFrom } });
    // It was lifted, and another one is placed.
    await redis.client.del(keys.hold);
    await take(keys, 80, 1);
    await redis.client.hset(keys.rateLimit, 'fellAt', (await now()) - 1_001);
    await holdFor(10_000);
    const { from = 0, to = 0 } = (await decrease(keys, 80)) ?? {};
    expect(from).toBeCloseTo(40, 0);
    expect(to).toBeCloseTo(20, 0);
  });

  it('do not decrease below the floor', async () => {
    const keys = freshKeys();
    for (let time = 0; time < 10; time++) {
      await redis.client.hset(keys.rateLimit, { fellAt: time, risesFrom: await now() });
      await decrease(keys, 3);
    }
    expect((await readRateLimit(redis.client, keys, 3))?.fall?.to).toBe(1);
  });

  it('without a limit, decrease from the rate of all processes together', async () => {
    const keys = freshKeys();
    await redis.client.hset(keys.workers, { one: '', two: '' });
    expect(await decrease(keys, 0, 50)).toEqual({ from: 100, to: 50 });
    expect(await readRateLimit(redis.client, keys, 0)).toMatchObject({
      configured: 0,
      fall: { from: 100, to: 50 },
    });
    expect((await take(keys, 0, 1)).kind).toBe('permits');
  });
});

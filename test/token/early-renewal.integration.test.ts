import { afterEach, describe, expect, it, vi } from 'vitest';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import { EarlyRenewal, earlyRenewalDelay, type HeldToken } from '../../src/token/early-renewal.ts';
import { tokenOf } from '../../src/token/token-seal.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';
import { World } from './support/world.ts';

const redis = testRedis();

describe('earlyRenewalDelay', () => {
  const HOUR = 3_600_000;
  it.each([
    ['a minute before the end', HOUR, HOUR, 60_000, 0, HOUR - 60_000],
    ['up to a quarter of that later', HOUR, HOUR, 60_000, 1, HOUR - 45_000],
    ['at half its life when that is short', 10_000, 10_000, 60_000, 0, 5000],
    ['from a copy taken late in its life', 120_000, HOUR, 60_000, 0, 60_000],
    ['at once inside the lead', 30_000, HOUR, 60_000, 0, 0],
    ['soon inside the lead, spread', 30_000, HOUR, 60_000, 1, 7500],
  ])('%s', (_, restMs, lifeMs, renewBeforeMs, chance, delay) => {
    expect(earlyRenewalDelay(restMs, lifeMs, renewBeforeMs, chance)).toBe(delay);
  });
});

describe('EarlyRenewal', () => {
  afterEach(() => vi.useRealTimers());

  const held = (name: string, lifeMs: number): HeldToken => ({
    token: tokenOf(name),
    fence: 1,
    usableUntil: performance.now() + lifeMs,
    lifeMs,
  });
  /** Renews on a clock of the test's; `calls` says for whom and when, in ms since the start. */
  function renewal(renew: (early: EarlyRenewal) => void = () => undefined) {
    vi.useFakeTimers();
    const start = performance.now();
    const calls: [string, number][] = [];
    const early: EarlyRenewal = new EarlyRenewal(
      ({ token }) => {
        calls.push([token.value, performance.now() - start]);
        renew(early);
        return Promise.resolve();
      },
      60_000,
      2000,
    );
    return { early, calls };
  }

  it('tries again after half of the remaining life, and not in the last moments', async () => {
    const { early, calls } = renewal();
    early.arm(held('a', 3_600_000));
    await vi.advanceTimersByTimeAsync(4_000_000);
    const rests = calls.map(([, at]) => 3_600_000 - at);
    expect(rests[0]).toBeGreaterThanOrEqual(45_000);
    expect(rests[0]).toBeLessThanOrEqual(60_000);
    for (const [index, rest] of rests.slice(1).entries()) {
      const before = rests[index] ?? 0;
      expect(Math.abs(before - rest - Math.max(2000, before / 2))).toBeLessThan(5);
    }
    expect(rests.at(-1)).toBeGreaterThan(0);
    expect(rests.at(-1)).toBeLessThanOrEqual(2000 * 2);
    expect(rests.length).toBeGreaterThan(3);
  });

  it('leaves a copy alone that was replaced or dropped', async () => {
    const { early, calls } = renewal((early) => early.arm(held('b', Infinity)));
    early.arm(held('a', 60_000));
    await vi.advanceTimersByTimeAsync(120_000);
    expect(calls.map(([name]) => name)).toEqual(['a']);

    early.arm(held('c', 60_000));
    early.disarm();
    await vi.advanceTimersByTimeAsync(120_000);
    expect(calls).toHaveLength(1);
  });
});

describe('early renewal', () => {
  let world: World;
  afterEach(() => world.close());

  it('replaces a token of known life while the old one serves, once for the fleet', async () => {
    world = new World(redis, { refusedMinMs: 500 });
    world.issuer.plan(() => Promise.resolve({ value: 'old', expiresInMs: 2000 }));
    const fleet = [await world.member(), await world.member(), await world.member()];
    await Promise.all(fleet.map(({ shared }) => shared.get()));
    const got = new Set<string>();
    await until(
      async () => {
        for (const { shared } of fleet) got.add((await shared.get()).value);
        return got.size > 1;
      },
      { what: 'the successor', deadlineMs: 2000 },
    );
    expect([...got]).toEqual(['old', 'value-2']);
    expect(world.issuer.asked).toBe(2);
    const events = fleet.flatMap(({ events }) => events);
    expect(events).toContainEqual(expect.objectContaining({ kind: 'issued', early: true }));
  });

  it('leaves the old token in use when the endpoint fails, without a refusal', async () => {
    world = new World(redis, { refusedMinMs: 200 });
    world.issuer.plan(() => Promise.resolve({ value: 'old', expiresInMs: 3000 }));
    world.issuer.always(() => Promise.reject(new NoticeQueueError('TOKEN_UNAVAILABLE')));
    const { shared, events } = await world.member();
    await shared.get();
    const failed = () => events.filter(({ kind }) => kind === 'early-renewal-failed').length;
    await until(() => failed() >= 2, { what: 'two early renewals' });
    await expect(shared.get()).resolves.toMatchObject({ value: 'old' });
    expect(await redis.client.exists(world.keys.refused, world.keys.lock)).toBe(0);

    world.issuer.always(undefined);
    await until(async () => (await shared.get()).value !== 'old', { what: 'a new token' });
  });

  it('issues again when the known life has ended and nothing came before', async () => {
    world = new World(redis, { renewBeforeMs: 0 });
    world.issuer.plan(() => Promise.resolve({ value: 'short', expiresInMs: 300 }));
    const { shared } = await world.member();
    await expect(shared.get()).resolves.toMatchObject({ value: 'short' });
    await until(async () => (await shared.get()).value === 'value-2', { what: 'its successor' });
    expect(world.issuer.asked).toBe(2);
  });

  it.each([Number.NaN, Infinity, -5, 0])(
    'does not believe a life of %d ms',
    async (expiresInMs) => {
      world = new World(redis);
      world.issuer.plan(() => Promise.resolve({ value: 'odd', expiresInMs }));
      const { shared } = await world.member();
      await shared.get();
      expect((await world.status()).token).not.toHaveProperty('expiresAt');
      await expect(shared.get()).resolves.toMatchObject({ value: 'odd' });
    },
  );
});

import { afterEach, describe, expect, it } from 'vitest';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import { renewalOf } from '../../src/token/shared-token.ts';
import { tokenOf } from '../../src/token/token-seal.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';
import { World } from './support/world.ts';

const redis = testRedis();

const HOUR = 3_600_000;
it.each([
  ['a minute before the end', HOUR, 60_000, 0, HOUR - 60_000],
  ['up to a quarter of that later', HOUR, 60_000, 1, HOUR - 45_000],
  ['at half its life when that is short', 10_000, 60_000, 0, 5000],
  ['never without a known life', Infinity, 60_000, 0, Infinity],
])('a use renews a token %s', (_, lifeMs, renewBeforeMs, chance, expected) => {
  const held = { token: tokenOf('a'), fence: 1, usableUntil: lifeMs, lifeMs };
  expect(renewalOf(held, renewBeforeMs, chance)).toBe(expected);
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

  it('that is still under way is waited for at a stop, however often the token was used since', async () => {
    world = new World(redis, { refusedMinMs: 100 });
    let answer = (_value: string) => {};
    const answered = new Promise<string>((resolve) => (answer = resolve));
    world.issuer.plan(
      () => Promise.resolve({ value: 'old', expiresInMs: 3000 }),
      async () => ({ value: await answered }),
    );
    const { shared } = await world.member();
    const used = async () => {
      expect((await shared.get()).value).toBe('old');
      return world.issuer.asked === 2;
    };
    await until(used, { what: 'the renewal' });
    const startedAt = performance.now();
    const usedAgain = async () => (await used()) && performance.now() - startedAt > 800;
    await until(usedAgain, { what: 'the next try' });
    let isStopped = false;
    const stopping = shared.stop().then(() => (isStopped = true));
    await redis.client.ping();
    expect(isStopped).toBe(false);
    answer('new');
    await stopping;
    expect(world.issuer.issued).toEqual(['old', 'new']);
  });

  it('leaves the old token in use when the endpoint fails, without a refusal', async () => {
    world = new World(redis, { refusedMinMs: 200 });
    world.issuer.plan(() => Promise.resolve({ value: 'old', expiresInMs: 3000 }));
    world.issuer.always(() => Promise.reject(new NoticeQueueError('TOKEN_UNAVAILABLE')));
    const { shared, events } = await world.member();
    await shared.get();
    const failed = async () => {
      expect((await shared.get()).value).toBe('old');
      return events.filter(({ kind }) => kind === 'early-renewal-failed').length >= 2;
    };
    await until(failed, { what: 'two early renewals' });
    await expect(shared.get()).resolves.toMatchObject({ value: 'old' });
    expect(await world.record()).toMatchObject({ refusal: {}, lock: {} });
    expect(Object.keys((await world.record()).refusal)).toEqual([]);

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

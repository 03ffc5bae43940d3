import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';
import { World } from './support/world.ts';

const redis = testRedis();
let world: World;
beforeEach(() => {
  world = new World(redis);
});
afterEach(() => world.close());

describe('a service that gives out its token again until it expires', () => {
  const FOREIGN = { status: 403, code: 'FOREIGN' } as const;

  it('is asked once for a refusal that may be of the notice', async () => {
    world.issuer.always(() => Promise.resolve({ value: 'the-same' }));
    const { shared, events } = await world.member();
    const token = await shared.get();
    for (let notice = 0; notice < 5; notice++) {
      await world.age(60_000);
      await expect(shared.renew(token, FOREIGN)).resolves.toBeUndefined();
      await expect(shared.get()).resolves.toEqual(token);
    }
    expect(world.issuer.asked).toBe(2);
    expect(events.filter(({ kind }) => kind === 'contested')).toEqual([]);
  });

  it.each([{ status: 401, code: 'INVALID_ACCESS_KEY' }, { status: 401 }] as const)(
    'is asked each time for a refusal that is of the token, %j, until the budget is spent',
    async (refusal) => {
      world = new World(redis, { budget: 4 });
      world.issuer.always(() => Promise.resolve({ value: 'the-same' }));
      const { shared } = await world.member();
      const token = await shared.get();
      for (let times = 0; times < 3; times++) {
        await world.age(60_000);
        await expect(shared.renew(token, refusal)).resolves.toBeUndefined();
        await expect(shared.get()).resolves.toEqual(token);
      }
      await world.age(60_000);
      await expect(shared.renew(token, refusal)).rejects.toMatchObject({ hold: 'token-contested' });
      expect(world.issuer.asked).toBe(4);
    },
  );

  it('is asked for an early renewal as often as one process would ask', async () => {
    world = new World(redis, { refusedMinMs: 100 });
    const endsAt = performance.now() + 4_000;
    world.issuer.always(() =>
      Promise.resolve({ value: 'the-same', expiresInMs: endsAt - performance.now() }),
    );
    const fleet = await Promise.all(Array.from({ length: 6 }, () => world.member()));
    const isNearItsEnd = async () => {
      await Promise.all(fleet.map(({ shared }) => shared.get()));
      return performance.now() > endsAt - 300;
    };
    await until(isNearItsEnd, { what: 'its end to be near' });
    expect(world.issuer.asked).toBeGreaterThan(1);
    // One, and one for each half of what is left.
    expect(world.issuer.asked).toBeLessThanOrEqual(7);
  });
});

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

  it('is asked once for a refusal that is not of the token, which is no contest', async () => {
    world.issuer.always(() => Promise.resolve({ value: 'the-same' }));
    const { shared, events } = await world.member();
    const token = await shared.get();
    await world.prove();
    for (let notice = 0; notice < 5; notice++) {
      await world.age(60_000);
      await expect(shared.renew(token, FOREIGN)).resolves.toBeUndefined();
      await expect(shared.get()).resolves.toEqual(token);
    }
    expect(world.issuer.asked).toBe(2);
    expect(events.filter(({ kind }) => kind === 'contested')).toEqual([]);
    expect((await shared.status()).token).toMatchObject({ proven: true });
  });

  it.each([true, false])(
    'is contested where it states that the token is invalid, also one that worked: %s',
    async (proven) => {
      world.issuer.always(() => Promise.resolve({ value: 'the-same' }));
      const { shared } = await world.member();
      const token = await shared.get();
      if (proven) await world.prove();
      const invalid = { status: 401, code: 'INVALID_ACCESS_KEY' } as const;
      await world.age(60_000);
      await expect(shared.renew(token, invalid)).resolves.toBeUndefined();
      for (const retryInMs of [2_000, 4_000]) {
        await world.age(60_000);
        const { shared: other } = await world.member();
        await expect(other.renew(token, invalid)).rejects.toMatchObject({
          hold: 'token-contested',
          retryInMs,
        });
        await world.forgetRefusal();
        await expect((await world.member()).shared.renew(token, invalid)).resolves.toBeUndefined();
      }
      expect(world.issuer.asked).toBe(4);
    },
  );

  it.each([{ status: 401, code: 'TOKEN_UNKNOWN' }, { status: 401 }] as const)(
    'works after a refusal that may be of the token, %j: the next acceptance proves it, and nothing is contested',
    async (refusal) => {
      world.issuer.always(() => Promise.resolve({ value: 'the-same' }));
      const { shared, events } = await world.member();
      const token = await shared.get();
      const proven = async () => (await shared.status()).token?.proven;
      for (let times = 0; times < 3; times++) {
        shared.accepted(token);
        await until(proven, { what: 'the proof' });
        await world.age(60_000);
        await expect(shared.renew(token, refusal)).resolves.toBeUndefined();
        expect(await proven()).toBe(false);
      }
      shared.accepted(token);
      await until(proven, { what: 'the proof' });
      await world.age(60_000);
      await expect(shared.renew(token, FOREIGN)).resolves.toBeUndefined();
      expect(events.filter(({ kind }) => kind === 'contested')).toEqual([]);
    },
  );

  it('is proven anew by a process that did not ask for it', async () => {
    world.issuer.always(() => Promise.resolve({ value: 'the-same' }));
    const [one, other] = [await world.member(), await world.member()];
    const token = await one.shared.get();
    await other.shared.get();
    const proven = async () => (await one.shared.status()).token?.proven === true;
    one.shared.accepted(token);
    other.shared.accepted(token);
    await until(proven, { what: 'the proof' });
    await world.age(60_000);
    await expect(one.shared.renew(token, { status: 401 })).resolves.toBeUndefined();
    expect(await proven()).toBe(false);
    await until(
      async () => {
        other.shared.accepted(token);
        return proven();
      },
      { what: 'the proof by the other process' },
    );
    await world.age(60_000);
    await expect(other.shared.renew(token, { status: 401 })).resolves.toBeUndefined();
  });

  it('is not taken for one that refuses a notice after a single 401 without a code', async () => {
    world.issuer.always(() => Promise.resolve({ value: 'the-same' }));
    const { shared } = await world.member();
    const token = await shared.get();
    await world.prove();
    const refusal = { status: 401 } as const;
    await world.age(60_000);
    await expect(shared.renew(token, refusal)).resolves.toBeUndefined();
    await world.age(60_000);
    await expect(shared.renew(token, refusal)).rejects.toMatchObject({ retryInMs: 2_000 });
    expect(await redis.client.exists(world.keys.uncured)).toBe(0);
    world.issuer.always(undefined);
    await world.forgetRefusal();
    const other = await world.member();
    expect((await other.shared.renew(token, refusal))?.id).not.toBe(token.id);
  });

  it('is asked for an early renewal as often as one process would ask', async () => {
    world = new World(redis, { refusedMinMs: 100 });
    const endsAt = performance.now() + 4_000;
    world.issuer.always(() =>
      Promise.resolve({ value: 'the-same', expiresInMs: endsAt - performance.now() }),
    );
    const fleet = await Promise.all(Array.from({ length: 6 }, () => world.member()));
    await Promise.all(fleet.map(({ shared }) => shared.get()));
    await until(() => performance.now() > endsAt - 300, { what: 'its end to be near' });
    // One, and one for each half of what is left.
    expect(world.issuer.asked).toBeLessThanOrEqual(7);
  });
});

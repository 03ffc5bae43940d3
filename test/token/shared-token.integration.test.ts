import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RefusalStatus, Token } from '../../src/contracts/token.ts';
import { NoticeQueueError } from '../../src/contracts/errors.ts';
import { readTokenStatus } from '../../src/token/token-status.ts';
import { holdNextScript } from '../support/held-script.ts';
import { testRedis } from '../support/redis.ts';
import { signal, until } from '../support/wait.ts';
import { commandCalls, scriptCalls } from './support/server-calls.ts';
import { DEAF, World } from './support/world.ts';

const redis = testRedis();
let world: World;
beforeEach(() => {
  world = new World(redis);
});
afterEach(() => world.close());

describe('get', () => {
  it('asks for one token for a whole fleet (service-api, Authentication rules 3 and 5)', async () => {
    const fleet = await Promise.all(Array.from({ length: 4 }, () => world.member()));
    const got = await Promise.all(
      fleet.flatMap(({ slot }) => Array.from({ length: 16 }, () => slot.get())),
    );
    expect(new Set(got.map(({ value }) => value))).toEqual(new Set(['value-1']));
    expect(world.issuer.asked).toBe(1);
  });

  it('asks Redis once for all callers of a process', async () => {
    const { slot } = await world.member();
    await slot.get();
    const { slot: another } = await world.member();
    const before = await scriptCalls(redis.client);
    await Promise.all(Array.from({ length: 100 }, () => another.get()));
    expect(await scriptCalls(redis.client)).toBe(before + 1);
  });

  it('costs Redis nothing in steady state: no command in 10,000 sends', async () => {
    const { slot } = await world.member();
    const first = await slot.get();
    slot.accepted(first);
    await until(async () => (await slot.status()).token?.proven, { what: 'the proof' });
    const before = await commandCalls(redis.client);
    for (let n = 0; n < 10_000; n += 1) slot.accepted(await slot.get());
    expect(await commandCalls(redis.client)).toBe(before);
  });

  it('proves a token once for each process', async () => {
    const { slot } = await world.member();
    const token = await slot.get();
    for (let n = 0; n < 100; n += 1) slot.accepted(token);
    await until(async () => (await slot.status()).token?.proven, { what: 'the proof' });
    const before = await scriptCalls(redis.client);
    const { slot: later } = await world.member();
    later.accepted(await later.get());
    slot.accepted(await slot.get());
    await redis.client.ping();
    expect(await scriptCalls(redis.client)).toBe(before + 1);
  });

  it('lets one caller leave without failing the others', async () => {
    const hold = signal();
    world.issuer.plan(() => hold.promise.then(() => ({ value: 'slow' })));
    const { slot } = await world.member();
    const leaver = new AbortController();
    const left = slot.get(leaver.signal);
    const stays = slot.get();
    leaver.abort();
    await expect(left).rejects.toMatchObject({ code: 'TOKEN_UNAVAILABLE' });
    hold.resolve();
    await expect(stays).resolves.toMatchObject({ value: 'slow' });
    expect(world.issuer.asked).toBe(1);
  });

  it('goes on waiting for another process when one of its callers leaves', async () => {
    const hold = signal();
    world.issuer.plan(() => hold.promise.then(() => ({ value: 'slow' })));
    const holder = await world.member();
    const waiter = await world.member();
    const issued = holder.slot.get();
    await until(() => world.issuer.asked === 1, { what: 'the issuance' });
    const leaver = new AbortController();
    const left = waiter.slot.get(leaver.signal);
    const stays = waiter.slot.get();
    leaver.abort();
    await expect(left).rejects.toMatchObject({ code: 'TOKEN_UNAVAILABLE' });
    hold.resolve();
    await issued;
    await expect(stays).resolves.toMatchObject({ value: 'slow' });
  });

  it('finishes and stores an issuance that everybody left', async () => {
    const begun = signal();
    const hold = signal();
    world.issuer.plan(() => {
      begun.resolve();
      return hold.promise.then(() => ({ value: 'slow' }));
    });
    const { slot } = await world.member();
    const leaver = new AbortController();
    const left = slot.get(leaver.signal);
    await begun.promise;
    leaver.abort();
    await expect(left).rejects.toMatchObject({ code: 'TOKEN_UNAVAILABLE' });
    hold.resolve();
    await expect(slot.get()).resolves.toMatchObject({ value: 'slow' });
    expect(world.issuer.asked).toBe(1);
  });

  it('throws at once for a caller without time, and asks nothing', async () => {
    const { slot } = await world.member();
    await expect(slot.get(AbortSignal.abort())).rejects.toMatchObject({
      code: 'TOKEN_UNAVAILABLE',
    });
    expect(world.issuer.asked).toBe(0);
  });

  it('hears nothing and still gets what another process issued, by asking again', async () => {
    const hold = signal();
    world.issuer.plan(() => hold.promise.then(() => ({ value: 'slow' })));
    const holder = await world.member({ hints: DEAF });
    const waiter = await world.member({ hints: DEAF });
    const issued = holder.slot.get();
    await until(() => world.issuer.asked === 1, { what: 'the issuance' });
    const waited = waiter.slot.get();
    hold.resolve();
    await issued;
    const stored = performance.now();
    await expect(waited).resolves.toMatchObject({ value: 'slow' });
    expect(performance.now() - stored).toBeLessThan(5_000);
    expect(waiter.events).toEqual([expect.objectContaining({ kind: 'waited' })]);
    expect(world.issuer.asked).toBe(1);
  });

  it.each([
    ['without a ttl', undefined],
    ['that outlasts the configured ttl', 600_000],
  ])('is not kept by a lock %s (a clock went back)', async (_, ttl) => {
    await redis.client.set(world.keys.lock, 'ghost');
    if (ttl !== undefined) await redis.client.pexpire(world.keys.lock, ttl);
    const { slot } = await world.member();
    await expect(slot.get(AbortSignal.timeout(2000))).resolves.toMatchObject({
      value: 'value-1',
    });
  });
});

describe('renew (service-api, Authentication rule 4)', () => {
  it('brings one new token for an invalidation, whoever saw the old one refused', async () => {
    const fleet = await Promise.all(Array.from({ length: 4 }, () => world.member()));
    const old = await settled(fleet.map(({ slot }) => slot));
    const renewed = await Promise.all(
      fleet.flatMap(({ slot }) => Array.from({ length: 16 }, () => slot.renew(old, 401))),
    );
    expect(new Set(renewed.map(({ value }) => value))).toEqual(new Set(['value-2']));
    expect(world.issuer.asked).toBe(2);
  });

  it('answers a late refusal of an older token with the stored one', async () => {
    const [one, two] = [await world.member(), await world.member({ hints: DEAF })];
    const old = await settled([one.slot, two.slot]);
    const current = await one.slot.renew(old, 401);
    await world.age(60_000);
    await expect(two.slot.renew(old, 401)).resolves.toEqual(current);
    const before = await scriptCalls(redis.client);
    await expect(one.slot.renew(old, 401)).resolves.toEqual(current);
    expect(await scriptCalls(redis.client)).toBe(before);
    expect(world.issuer.asked).toBe(2);
  });

  it('keeps the newer token when the answer about an older one comes after it', async () => {
    const other = await world.member();
    const old = await settled([other.slot]);
    const client = redis.connect();
    const { slot } = await world.member({ hints: DEAF, redis: client });
    const late = holdNextScript(client);
    const asked = slot.get();
    await late.answered;
    const current = await other.slot.renew(old, 401);
    await expect(slot.renew(old, 401)).resolves.toEqual(current);
    late.letGo();
    await expect(asked).resolves.toEqual(current);
    await expect(slot.get()).resolves.toEqual(current);
    expect(world.issuer.asked).toBe(2);
  });

  it('drops the copy of a process that hears of a newer token', async () => {
    const [one, two] = [await world.member(), await world.member()];
    const old = await settled([one.slot, two.slot]);
    const current = await one.slot.renew(old, 401);
    await until(async () => (await two.slot.get()).id === current.id, { what: 'the newer token' });
    expect(world.issuer.asked).toBe(2);
  });

  it.each([
    [401, 500, 1500],
    [403, 5000, 15_000],
  ] as [RefusalStatus, number, number][])(
    'after %d tries a token of %d ms once more, and replaces one of %d ms',
    async (status, young, old) => {
      const { slot, events } = await world.member();
      const token = await slot.get();
      await world.age(young);
      await expect(slot.renew(token, status)).resolves.toEqual(token);
      expect(events).toContainEqual(expect.objectContaining({ kind: 'young', id: token.id }));
      expect(world.issuer.asked).toBe(1);
      await world.age(old);
      await expect(slot.renew(token, status)).resolves.toMatchObject({ value: 'value-2' });
    },
  );

  it('replaces a token that this process cannot open', async () => {
    const stranger = await world.member({ secret: 'another secret' });
    const { slot, events } = await world.member();
    const unreadable = await stranger.slot.get();
    await expect(slot.get()).resolves.toMatchObject({ value: 'value-2' });
    expect(events).toContainEqual({ kind: 'unreadable', id: unreadable.id });
  });

  it('replaces a garbled record', async () => {
    const { slot } = await world.member();
    await redis.client.hset(world.keys.current, { id: 'x', sealed: 'v1.x', fence: 'many' });
    await expect(slot.get()).resolves.toMatchObject({ value: 'value-1' });
  });
});

describe('judge', () => {
  it('again: the second token was replaced meanwhile', async () => {
    const { slot } = await world.member({ hints: DEAF });
    const other = await world.member();
    const second = await slot.get();
    await world.age(60_000);
    await other.slot.renew(second, 401);
    await expect(slot.judge(second)).resolves.toBe('again');
  });

  it('again: it worked for another process', async () => {
    const { slot } = await world.member();
    const second = await slot.get();
    await world.prove();
    await expect(slot.judge(second)).resolves.toBe('again');
  });

  it('again: it worked here, and nobody needs to be asked', async () => {
    const { slot } = await world.member();
    const second = await slot.get();
    slot.accepted(second);
    await redis.client.del(world.keys.current);
    await expect(slot.judge(second)).resolves.toBe('again');
  });

  it('refused: it is current and never worked; the next get asks for another', async () => {
    const { slot } = await world.member();
    const second = await slot.get();
    await expect(slot.judge(second)).resolves.toBe('refused');
    await world.age(60_000);
    await expect(slot.get()).resolves.toMatchObject({ value: 'value-2' });
  });

  it('refused: a 403 is said of the caller, though the token works for others', async () => {
    const { slot } = await world.member();
    const second = await slot.get();
    await world.prove();
    await expect(slot.judge(second, 403)).resolves.toBe('refused');
    await world.age(60_000);
    await expect(slot.get()).resolves.toEqual(second);
  });

  it('refused: a 403 is said of the caller, though the token worked here before', async () => {
    const { slot } = await world.member();
    const second = await slot.get();
    slot.accepted(second);
    await until(async () => (await slot.status()).token?.proven, { what: 'the proof' });
    await expect(slot.judge(second, 403)).resolves.toBe('refused');
    await expect(slot.get()).resolves.toEqual(second);
    expect(world.issuer.asked).toBe(1);
  });
});

describe('status', () => {
  it('shows everything but the token', async () => {
    const { slot } = await world.member();
    expect(await slot.status()).toEqual({ issuing: false, issuances: 0 });
    world.issuer.plan(() => Promise.resolve({ value: 'canary', expiresInMs: 90_000 }));
    const { id } = await slot.get();
    const status = await readTokenStatus(redis.client, world.keys);
    expect(status).toMatchObject({
      token: { id, fence: 1, issuer: 'host:0', proven: false },
      issuing: false,
      issuances: 1,
    });
    const { issuedAt = 0, expiresAt = 0 } = status.token ?? {};
    expect(expiresAt - issuedAt).toBeGreaterThan(89_000);
    expect(inspect(status)).not.toContain('canary');
  });

  it('shows a refusal and until when it stands', async () => {
    world.issuer.plan(() => Promise.reject(new NoticeQueueError('IP_NOT_ALLOWED')));
    const { slot } = await world.member();
    await expect(slot.get()).rejects.toMatchObject({ code: 'IP_NOT_ALLOWED' });
    const { refusal } = await slot.status();
    expect(refusal).toMatchObject({ hold: 'credentials', code: 'IP_NOT_ALLOWED' });
    expect(Math.abs((refusal?.until ?? 0) - Date.now() - 2000)).toBeLessThan(1000);
  });
});

describe('lifecycle', () => {
  it('stops before start, twice, and refuses who comes after', async () => {
    const { slot } = await world.member();
    await slot.stop();
    await slot.stop();
    await expect(slot.get()).rejects.toMatchObject({ code: 'TOKEN_UNAVAILABLE' });
  });

  it('stores what was being issued when it is stopped', async () => {
    const begun = signal();
    const hold = signal();
    world.issuer.plan(() => {
      begun.resolve();
      return hold.promise.then(() => ({ value: 'slow' }));
    });
    const { slot } = await world.member();
    const got = slot.get();
    await begun.promise;
    const stopped = slot.stop();
    hold.resolve();
    await stopped;
    await expect(got).resolves.toMatchObject({ value: 'slow' });
    expect((await slot.status()).token?.id).toBe((await got).id);
  });

  it('survives a listener that throws', async () => {
    const { slot } = await world.member({
      onEvent: () => {
        throw new Error('a listener of the caller');
      },
    });
    await expect(slot.get()).resolves.toMatchObject({ value: 'value-1' });
  });
});

/** Lets every process hold the same proven token that is past its grace; answers it. */
async function settled(slots: { get(): Promise<Token> }[]): Promise<Token> {
  const [token] = await Promise.all(slots.map((slot) => slot.get()));
  await world.prove();
  await world.age(60_000);
  if (token === undefined) throw new Error('no process');
  return token;
}

import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Token } from '../../src/contracts/token.ts';
import type { Refusal } from '../../src/contracts/token.ts';
import { readTokenStatus } from '../../src/token/token-status.ts';
import { holdNextScript } from '../support/held-script.ts';
import { testRedis } from '../support/redis.ts';
import { signal, until } from '../support/wait.ts';
import { commandCalls, scriptCalls } from './support/server-calls.ts';
import { NO_HINTS, World } from './support/world.ts';
import { changeRecord, redisTime, writeState } from './support/write-state.ts';

const redis = testRedis();
let world: World;
beforeEach(() => {
  world = new World(redis);
});
afterEach(() => world.close());

describe('get', () => {
  it('asks Redis once for all callers of a process, and no more for 10,000 sends', async () => {
    const { shared } = await world.member();
    await shared.get();
    const { shared: another } = await world.member();
    const scripts = await scriptCalls(redis.client);
    await Promise.all(Array.from({ length: 100 }, () => another.get()));
    expect(await scriptCalls(redis.client)).toBe(scripts + 1);
    const before = await commandCalls(redis.client);
    for (let n = 0; n < 10_000; n += 1) await another.get();
    expect(await commandCalls(redis.client)).toBe(before);
  });

  it('lets one caller leave without failing the others', async () => {
    const hold = signal();
    world.issuer.plan(() => hold.promise.then(() => ({ value: 'slow' })));
    const { shared } = await world.member();
    const leaver = new AbortController();
    const left = shared.get(leaver.signal);
    const stays = shared.get();
    leaver.abort();
    await expect(left).rejects.toMatchObject({ code: 'TOKEN_UNAVAILABLE' });
    hold.resolve();
    await expect(stays).resolves.toMatchObject({ value: 'slow' });
    expect(world.issuer.asked).toBe(1);
  });

  it('gets what another process issued without hints, by polling', async () => {
    const hold = signal();
    world.issuer.plan(() => hold.promise.then(() => ({ value: 'slow' })));
    const holder = await world.member({ hints: NO_HINTS });
    const waiter = await world.member({ hints: NO_HINTS });
    const issued = holder.shared.get();
    await until(() => world.issuer.asked === 1, { what: 'the issuance' });
    const waited = waiter.shared.get();
    hold.resolve();
    await issued;
    const stored = performance.now();
    await expect(waited).resolves.toMatchObject({ value: 'slow' });
    expect(performance.now() - stored).toBeLessThan(5_000);
    expect(world.issuer.asked).toBe(1);
  });
});

describe('a process that died while it issued', () => {
  it('is followed by one other, once its lock is over', async () => {
    await writeState(redis.client, world.keys, { lock: 500 });
    const fleet = [await world.member(), await world.member({ hints: NO_HINTS })];
    const tokens = await Promise.all(fleet.map(({ shared }) => shared.get()));
    expect(tokens.map(({ value }) => value)).toEqual(['value-1', 'value-1']);
    expect(world.issuer.asked).toBe(1);
  });
});

describe('renew (service-api, Authentication rule 4)', () => {
  it('answers a late refusal of an older token with the stored one', async () => {
    const [one, two] = [await world.member(), await world.member({ hints: NO_HINTS })];
    const old = await settled([one.shared, two.shared]);
    const current = await one.shared.renew(old, { status: 401 });
    await world.age(60_000);
    await expect(two.shared.renew(old, { status: 401 })).resolves.toEqual(current);
    const before = await scriptCalls(redis.client);
    await expect(one.shared.renew(old, { status: 401 })).resolves.toEqual(current);
    expect(await scriptCalls(redis.client)).toBe(before);
    expect(world.issuer.asked).toBe(2);
  });

  it('keeps the newer token when the answer about an older one comes after it', async () => {
    const other = await world.member();
    const old = await settled([other.shared]);
    const client = redis.connect();
    const { shared } = await world.member({ hints: NO_HINTS, redis: client });
    const late = holdNextScript(client);
    const asked = shared.get();
    await late.answered;
    const current = await other.shared.renew(old, { status: 401 });
    await expect(shared.renew(old, { status: 401 })).resolves.toEqual(current);
    late.letGo();
    await expect(asked).resolves.toEqual(current);
    await expect(shared.get()).resolves.toEqual(current);
    expect(world.issuer.asked).toBe(2);
  });

  it('drops the copy of a process when a hint names a newer token', async () => {
    const [one, two] = [await world.member(), await world.member()];
    const old = await settled([one.shared, two.shared]);
    const current = await one.shared.renew(old, { status: 401 });
    await until(async () => (await two.shared.get()).id === current?.id, {
      what: 'the newer token',
    });
    expect(world.issuer.asked).toBe(2);
  });

  it.each([401, 403] as const)(
    'after %d tries a young token once more, and replaces an older one',
    async (status) => {
      const { shared } = await world.member();
      const token = await shared.get();
      await world.age(500);
      await expect(shared.renew(token, { status })).resolves.toEqual(token);
      expect(world.issuer.asked).toBe(1);
      await world.age(1_500);
      await expect(shared.renew(token, { status })).resolves.toMatchObject({ value: 'value-2' });
    },
  );

  it('gives a refused token up for one of before, after Redis lost the record, without a hint', async () => {
    const { shared } = await world.member({ hints: NO_HINTS });
    const { shared: other } = await world.member({ hints: NO_HINTS });
    const first = await shared.get();
    await world.age(60_000);
    const refused = await shared.renew(first, { status: 401, code: 'INVALID_ACCESS_KEY' });
    if (refused === undefined) throw new Error('no token');
    await redis.client.del(world.keys.record);
    const stored = await other.get();
    const renewed = await shared.renew(refused, { status: 401, code: 'UNAUTHORIZED' });
    expect(renewed?.value).toBe(stored.value);
    expect((await shared.get()).value).toBe(stored.value);
  });

  it.each(['many', 7])('replaces a corrupt record with the fence %s', async (fence) => {
    const { shared } = await world.member();
    const issuedAt = await redisTime(redis.client);
    const token = { id: 'x', sealed: 'v1.x', issuedAt, fence };
    await redis.client.set(world.keys.record, JSON.stringify({ token }));
    await expect(shared.get()).resolves.toMatchObject({ value: 'value-1' });
  });
});

describe('a refusal that may be of the notice', () => {
  const FOREIGN = { status: 403, code: 'FOREIGN' } as const;

  /** Two processes, a token that was issued for such a refusal, and its age. */
  async function renewedFor(refusal: Refusal) {
    const fleet = [await world.member(), await world.member()] as const;
    const [{ shared }] = fleet;
    const first = await settled(fleet.map((member) => member.shared));
    const second = (await shared.renew(first, refusal)) ?? first;
    await world.age(60_000);
    return { fleet, second };
  }

  it('issues one token for the fleet: the next such refusals keep it in use', async () => {
    const { fleet, second } = await renewedFor(FOREIGN);
    for (const { shared } of fleet) {
      await until(async () => (await shared.get()).id === second.id, { what: 'the new token' });
      const renewed = shared.renew(second, FOREIGN);
      await expect(shared.get()).resolves.toMatchObject({ id: second.id });
      await expect(renewed).resolves.toBeUndefined();
      await expect(shared.get()).resolves.toMatchObject({ id: second.id });
    }
    expect(world.issuer.asked).toBe(2);
  });

  it('is renewed for again after ten minutes', async () => {
    const { fleet, second } = await renewedFor(FOREIGN);
    const until = (await world.record()).tried['403 FOREIGN'] ?? 0;
    const restMs = until - (await redisTime(redis.client));
    expect(restMs).toBeGreaterThan(590_000);
    expect(restMs).toBeLessThanOrEqual(600_000);
    await changeRecord(redis.client, world.keys, ({ tried }) => {
      tried['403 FOREIGN'] = until - 600_000;
    });
    expect(await fleet[1].shared.renew(second, FOREIGN)).toMatchObject({ value: 'value-3' });
  });

  it('is renewed for again where the new token ended it', async () => {
    const { fleet, second } = await renewedFor(FOREIGN);
    const [{ shared }] = fleet;
    await shared.renewalHelped(FOREIGN);
    expect(await shared.renew(second, FOREIGN)).toMatchObject({ value: 'value-3' });
  });

  it.each<[string, Refusal, boolean]>([
    ['a 401 without a code', { status: 401 }, false],
    ['a code about the token', { status: 401, code: 'TOKEN_EXPIRED' }, false],
    ['INVALID_ACCESS_KEY', { status: 401, code: 'INVALID_ACCESS_KEY' }, false],
    ['a 401 with another code', { status: 401, code: 'UNAUTHORIZED' }, true],
    ['a code about the app', { status: 403, code: 'IP_NOT_ALLOWED' }, true],
  ])('%s: remembered %s', async (_, refusal, kept) => {
    const { fleet, second } = await renewedFor(refusal);
    const renewed = await fleet[0].shared.renew(second, refusal);
    expect(renewed === undefined).toBe(kept);
  });
});

describe('status', () => {
  it('shows everything but the token', async () => {
    const { shared } = await world.member();
    expect(await world.status()).toEqual({ issuing: false, issuances: 0 });
    world.issuer.plan(() => Promise.resolve({ value: 'canary', expiresInMs: 90_000 }));
    const { id } = await shared.get();
    const status = await readTokenStatus(redis.client, world.keys);
    expect(status).toMatchObject({
      token: { id, fence: 1, issuer: 'host:0' },
      issuing: false,
      issuances: 1,
    });
    const { issuedAt = 0, expiresAt = 0 } = status.token ?? {};
    expect(expiresAt - issuedAt).toBeGreaterThan(89_000);
    expect(inspect(status)).not.toContain('canary');
  });
});

describe('lifecycle', () => {
  it('can be stopped before start and twice, and then rejects callers', async () => {
    const { shared } = await world.member();
    await shared.stop();
    await shared.stop();
    await expect(shared.get()).rejects.toMatchObject({ code: 'TOKEN_UNAVAILABLE' });
  });

  it('stores what is being issued when all callers leave and it is stopped', async () => {
    const started = signal();
    const hold = signal();
    world.issuer.plan(() => {
      started.resolve();
      return hold.promise.then(() => ({ value: 'slow' }));
    });
    const [{ shared }, other] = [await world.member(), await world.member()];
    const leaver = new AbortController();
    const left = shared.get(leaver.signal);
    await started.promise;
    leaver.abort();
    await expect(left).rejects.toMatchObject({ code: 'TOKEN_UNAVAILABLE' });
    const stopped = shared.stop();
    hold.resolve();
    await stopped;
    await expect(other.shared.get()).resolves.toMatchObject({ value: 'slow' });
    expect(world.issuer.asked).toBe(1);
  });
});

/** Lets every process hold the same token that is past its grace; answers it. */
async function settled(processes: { get(): Promise<Token> }[]): Promise<Token> {
  const [token] = await Promise.all(processes.map((shared) => shared.get()));
  await world.age(60_000);
  if (token === undefined) throw new Error('no process');
  return token;
}

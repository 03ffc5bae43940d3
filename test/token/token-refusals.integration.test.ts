import { setImmediate as immediate } from 'node:timers/promises';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { IssuedToken, Refusal } from '../../src/contracts/token.ts';
import { NoticeQueueError, TokenRefusedError } from '../../src/contracts/errors.ts';
import { liftManualHold, placeManualHold } from '../../src/fleet/hold/holds.ts';
import { testRedis } from '../support/redis.ts';
import { signal, until } from '../support/wait.ts';
import { scriptCalls } from './support/server-calls.ts';
import { World } from './support/world.ts';
import { changeRecord } from './support/write-state.ts';

const redis = testRedis();
let world: World;
beforeEach(() => {
  world = new World(redis);
});
afterEach(() => world.close());

describe('refusals', () => {
  it('asks the service once, for any number of concurrent callers', async () => {
    world.issuer.always(() => Promise.reject(new NoticeQueueError('INVALID_ACCESS_KEY')));
    const fleet = await Promise.all(Array.from({ length: 3 }, () => world.member()));
    const results = await Promise.allSettled(
      fleet.flatMap(({ shared }) => Array.from({ length: 50 }, () => shared.get())),
    );
    for (const result of results) {
      expect(result).toMatchObject({
        status: 'rejected',
        reason: { code: 'INVALID_ACCESS_KEY', hold: 'credentials' },
      });
    }
    expect(world.issuer.asked).toBe(1);
  });

  it('does not even ask Redis while it knows of a refusal, and probes once after it', async () => {
    world = new World(redis, { refusedMinMs: 400 });
    world.issuer.plan(() => Promise.reject(new NoticeQueueError('ACCESS_KEY_NOT_APPROVED')));
    const { shared } = await world.member();
    await expect(shared.get()).rejects.toBeInstanceOf(TokenRefusedError);
    const before = await scriptCalls(redis.client);
    const error: unknown = await shared.get().catch((e: unknown) => e);
    expect(error).toMatchObject({ refusalCode: 'ACCESS_KEY_NOT_APPROVED' });
    expect(await scriptCalls(redis.client)).toBe(before);
    await until(() => shared.get().catch(() => false), { what: 'the end of the refusal' });
    expect(world.issuer.asked).toBe(2);
  });

  it('is asked about again at once after a person lifted a hold', async () => {
    world = new World(redis, { refusedMinMs: 60_000 });
    world.issuer.plan(() => Promise.reject(new NoticeQueueError('INVALID_ACCESS_KEY')));
    const [a, b] = [await world.member(), await world.member()];
    await expect(a.shared.get()).rejects.toMatchObject({ hold: 'credentials' });
    await expect(b.shared.get()).rejects.toMatchObject({ hold: 'credentials' });
    await placeManualHold(world.client, world.accountKeys, 'while the keys are corrected');
    await liftManualHold(world.client, world.accountKeys);
    expect((await world.status()).refusal).toBeUndefined();
    const get = () => b.shared.get().catch(() => undefined);
    expect(await until(get, { what: 'a token', deadlineMs: 2_000 })).toMatchObject({
      value: 'value-2',
    });
    expect(world.issuer.asked).toBe(2);
  });

  it('of one process for its address leaves the token that works to the others', async () => {
    const [a, b, c] = [await world.member(), await world.member(), await world.member()];
    const token = await a.shared.get();
    await world.age(60_000);
    await b.shared.get();
    world.issuer.always(() => Promise.reject(new NoticeQueueError('IP_NOT_ALLOWED')));
    const refusal = { status: 403, code: 'IP_NOT_ALLOWED' } as const;
    expect(await b.shared.renew(token, refusal)).toBeUndefined();
    expect(await b.shared.renew(token, refusal)).toBeUndefined();
    expect(await b.shared.get()).toEqual(token);
    expect(await c.shared.get()).toEqual(token);
    expect((await world.record()).refusal.code).toBeUndefined();
    expect(world.issuer.asked).toBe(2);
  });

  it.each<[string, Refusal, boolean]>([
    ['of a notice', { status: 403, code: 'SENDER_NOT_YOURS' }, true],
    ['of the token', { status: 401, code: 'TOKEN_EXPIRED' }, false],
  ])('%s: whether the others go on with the token meanwhile', async (_name, refusal, goOn) => {
    const { shared } = await world.member();
    const token = await shared.get();
    await world.age(60_000);
    const asked = signal();
    const answered = signal();
    world.issuer.plan(async () => {
      asked.resolve();
      await answered.promise;
      return { value: 'next' };
    });
    const renewed = shared.renew(token, refusal);
    await asked.promise;
    const another = shared.get();
    const first = await Promise.race([another, renewed, immediate()]);
    expect(first).toEqual(goOn ? token : undefined);
    answered.resolve();
    expect(await renewed).toMatchObject({ value: 'next' });
    expect(await shared.get()).toMatchObject({ value: 'next' });
    await another;
  });

  it('by an endpoint that fails keeps the token, and is asked no more for such a refusal meanwhile', async () => {
    const [a, b] = await Promise.all([world.member(), world.member()]);
    const token = await a.shared.get();
    await b.shared.get();
    await world.age(60_000);
    world.issuer.always(() => Promise.reject(new NoticeQueueError('SERVICE_UNREACHABLE')));
    const ofNotice = { status: 403, code: 'SENDER_NOT_YOURS' } as const;
    expect(await a.shared.renew(token, ofNotice)).toBeUndefined();
    expect(await b.shared.renew(token, ofNotice)).toBeUndefined();
    expect(world.issuer.asked).toBe(2);
    expect(await a.shared.get()).toEqual(token);
    // One that is of the token is a failure of all.
    await expect(b.shared.renew(token, { status: 401 })).rejects.toMatchObject({
      hold: 'token-unavailable',
    });
    expect((await world.record()).refusal.code).toBe('SERVICE_UNREACHABLE');
  });

  it('of another process: a notice that is refused for itself is judged with the token that works', async () => {
    const [a, b, fresh] = await Promise.all([world.member(), world.member(), world.member()]);
    const token = await a.shared.get();
    await b.shared.get();
    await world.age(60_000);
    world.issuer.always(() => Promise.reject(new NoticeQueueError('INVALID_ACCESS_KEY')));
    await expect(a.shared.renew(token, { status: 401 })).rejects.toMatchObject({
      hold: 'credentials',
    });
    const ofNotice = { status: 403, code: 'SENDER_NOT_YOURS' } as const;
    expect(await b.shared.renew(token, ofNotice)).toBeUndefined();
    expect(await b.shared.get()).toEqual(token);
    await expect(fresh.shared.get()).rejects.toMatchObject({ hold: 'credentials' });
    await expect(b.shared.renew(token, { status: 401 })).rejects.toMatchObject({
      hold: 'credentials',
    });
    expect(world.issuer.asked).toBe(2);
  });

  it.each<[string, () => Promise<IssuedToken>]>([
    ['TOKEN_INVALID', () => Promise.resolve({ value: 'a b' })],
    ['SERVICE_UNREACHABLE', () => Promise.reject(new NoticeQueueError('SERVICE_UNREACHABLE'))],
    ['TOKEN_UNAVAILABLE', () => Promise.reject(new Error('canary'))],
  ])('%s holds as token-unavailable', async (refusalCode, plan) => {
    world.issuer.plan(plan);
    const { shared, events } = await world.member();
    const error: unknown = await shared.get().catch((e: unknown) => e);
    const expected = { hold: 'token-unavailable', refusalCode, retryInMs: 500 };
    expect(error).toMatchObject({ code: 'TOKEN_UNAVAILABLE', ...expected });
    expect(inspect([error, events], { depth: 9 })).not.toContain('canary');
  });

  it.each([
    'INVALID_ACCESS_KEY',
    'ACCESS_KEY_NOT_APPROVED',
    'IP_NOT_ALLOWED',
    'SERVICE_REFUSED',
  ] as const)('%s holds as credentials', async (refusalCode) => {
    world.issuer.plan(() => Promise.reject(new NoticeQueueError(refusalCode)));
    const { shared } = await world.member();
    const expected = { hold: 'credentials', refusalCode, retryInMs: 2000 };
    await expect(shared.get()).rejects.toMatchObject(expected);
    await changeRecord(world.client, world.keys, ({ refusal }) => (refusal.code = 'toString'));
    expect((await world.status()).refusal).toMatchObject({ code: 'TOKEN_UNAVAILABLE' });
  });

  it('ends an issuance at its deadline, well inside the lock', async () => {
    world = new World(redis, { lockTtlMs: 10_000, issueDeadlineMs: 300 });
    const aborted = signal();
    world.issuer.plan((over) => {
      over.addEventListener('abort', () => aborted.resolve());
      return new Promise(() => undefined);
    });
    const { shared } = await world.member();
    const startedAt = performance.now();
    await expect(shared.get()).rejects.toMatchObject({ hold: 'token-unavailable' });
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    await aborted.promise;
    expect((await world.record()).lock).toEqual({});
  });
});

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
      const { shared, events } = await world.member();
      const token = await shared.get();
      for (let times = 0; times < 3; times++) {
        await world.age(60_000);
        await expect(shared.renew(token, refusal)).resolves.toBeUndefined();
        await expect(shared.get()).resolves.toEqual(token);
      }
      await world.age(60_000);
      await expect(shared.renew(token, refusal)).rejects.toMatchObject({
        code: 'TOKEN_CONTESTED',
        hold: 'token-contested',
        retryInMs: 60_000,
      });
      await expect(shared.get()).rejects.toMatchObject({ hold: 'token-contested' });
      expect(events.filter(({ kind }) => kind === 'contested')).toHaveLength(1);
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

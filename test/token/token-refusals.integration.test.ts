import { setImmediate as immediate } from 'node:timers/promises';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Refusal, Token, TokenSource } from '../../src/contracts/token.ts';
import { NoticeQueueError, TokenRefusedError } from '../../src/contracts/errors.ts';
import type { SharedToken } from '../../src/token/shared-token.ts';
import { testRedis } from '../support/redis.ts';
import { signal, until } from '../support/wait.ts';
import { scriptCalls } from './support/server-calls.ts';
import { World } from './support/world.ts';

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

  it('of one process alone leaves the token that works to the others', async () => {
    const [a, b, c] = await Promise.all([world.member(), world.member(), world.member()]);
    const token = await a.shared.get();
    await world.prove();
    await world.age(60_000);
    await b.shared.get();
    world.issuer.always(() => Promise.reject(new NoticeQueueError('IP_NOT_ALLOWED')));
    const refusal = { status: 403, code: 'IP_NOT_ALLOWED' } as const;
    expect(await b.shared.renew(token, refusal)).toBeUndefined();
    expect(await b.shared.renew(token, refusal)).toBeUndefined();
    expect(await c.shared.get()).toEqual(token);
    expect(await world.client.exists(world.keys.refused)).toBe(0);
    const other = await world.member({ secret: 'another secret' });
    await expect(other.shared.get()).rejects.toMatchObject({ hold: 'credentials', scope: 'alone' });
    expect((await (await world.member()).shared.get()).id).toBe(token.id);
    expect(world.issuer.asked).toBe(3);
  });

  it.each<[string, Refusal, boolean]>([
    ['of a notice', { status: 403, code: 'SENDER_NOT_YOURS' }, true],
    ['of the token', { status: 401, code: 'TOKEN_EXPIRED' }, false],
  ])('%s: whether the others go on with the token meanwhile', async (_name, refusal, goOn) => {
    const { shared } = await world.member();
    const token = await shared.get();
    shared.accepted(token);
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

  it('by an endpoint that fails keeps a token that works, and asks no more for such a refusal', async () => {
    const [a, b] = await Promise.all([world.member(), world.member()]);
    const token = await a.shared.get();
    await b.shared.get();
    await world.prove();
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
    expect(await world.client.exists(world.keys.refused)).toBe(1);
  });

  it('of another process: a notice that is refused for itself is judged with the token that works', async () => {
    const [a, b, fresh] = await Promise.all([world.member(), world.member(), world.member()]);
    const token = await a.shared.get();
    await world.prove();
    await b.shared.get();
    await world.age(60_000);
    world.issuer.always(() => Promise.reject(new NoticeQueueError('INVALID_ACCESS_KEY')));
    await expect(a.shared.renew(token, { status: 401 })).rejects.toMatchObject({ scope: 'all' });
    const ofNotice = { status: 403, code: 'SENDER_NOT_YOURS' } as const;
    expect(await b.shared.renew(token, ofNotice)).toBeUndefined();
    expect(await b.shared.get()).toEqual(token);
    await expect(fresh.shared.renew(token, ofNotice)).rejects.toMatchObject({ scope: 'other' });
    await expect(b.shared.renew(token, { status: 401 })).rejects.toMatchObject({ scope: 'other' });
    expect(world.issuer.asked).toBe(2);
  });

  it('of an operator are not recorded for the fleet', async () => {
    world.issuer.plan(() => Promise.reject(new NoticeQueueError('INVALID_ACCESS_KEY')));
    const operator = await world.member({ recordsFailures: false });
    await expect(operator.shared.get()).rejects.toMatchObject({ code: 'INVALID_ACCESS_KEY' });
    const { shared } = await world.member();
    expect(await shared.get()).toMatchObject({ value: 'value-2' });
  });

  it.each([
    ['an unusable token', () => Promise.resolve({ value: 'a b' }), 'TOKEN_INVALID'],
    [
      'an unreachable service',
      () => Promise.reject(new NoticeQueueError('SERVICE_UNREACHABLE')),
      'SERVICE_UNREACHABLE',
    ],
    ['anything else', () => Promise.reject(new Error('canary')), 'TOKEN_UNAVAILABLE'],
  ])('%s holds as token-unavailable', async (_, plan, refusalCode) => {
    world.issuer.plan(plan);
    const { shared, events } = await world.member();
    const error: unknown = await shared.get().catch((e: unknown) => e);
    expect(error).toMatchObject({
      code: 'TOKEN_UNAVAILABLE',
      hold: 'token-unavailable',
      refusalCode,
      retryInMs: 500,
    });
    expect(inspect([error, events], { depth: 9 })).not.toContain('canary');
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
    expect(await redis.client.exists(world.keys.lock)).toBe(0);
  });

  it('stops at the budget as contested, and reports it once', async () => {
    world = new World(redis, { budget: 3 });
    const { shared, events } = await world.member();
    let token = await shared.get();
    for (let n = 0; n < 2; n += 1) {
      await world.prove();
      await world.age(60_000);
      token = (await shared.renew(token, { status: 401 })) ?? token;
    }
    await world.prove();
    await world.age(60_000);
    await expect(shared.renew(token, { status: 401 })).rejects.toMatchObject({
      code: 'TOKEN_CONTESTED',
      hold: 'token-contested',
      retryInMs: 60_000,
    });
    await expect(shared.get()).rejects.toMatchObject({ hold: 'token-contested' });
    expect(events.filter(({ kind }) => kind === 'contested')).toHaveLength(1);
    expect(world.issuer.asked).toBe(3);
  });
});

const INVALID = { status: 401, code: 'INVALID_ACCESS_KEY' } as const;

/** A token that worked is refused, and its successor accepted; answers the successor. */
async function die(shared: SharedToken, token: Token, ageMs = 60_000, refusedAt = -Infinity) {
  await world.age(ageMs);
  const next = (await shared.renew(token, INVALID)) ?? token;
  await shared.cured(INVALID, next.id, refusedAt);
  return next;
}

describe('a contested token', () => {
  /** Renews a token that is old enough and never worked, past the memory of the last refusal. */
  async function refuse(shared: Pick<TokenSource, 'renew'>, token: Token) {
    await world.age(60_000);
    return (await shared.renew(token, { status: 401 })) ?? token;
  }

  it('never worked, like the one before it; each probe waits twice as long', async () => {
    const first = await world.member();
    let token = await first.shared.get();
    token = await refuse(first.shared, token);
    for (const retryInMs of [2000, 4000, 8000]) {
      // A new process each time: the one before remembers the refusal by itself.
      const { shared, events } = await world.member();
      await shared.get();
      await expect(refuse(shared, token)).rejects.toMatchObject({
        hold: 'token-contested',
        retryInMs,
      });
      expect(events).toContainEqual({ kind: 'contested', retryInMs });
      await world.forgetRefusal();
      token = (await (await world.member()).shared.renew(token, { status: 401 })) ?? token;
    }
    expect(world.issuer.asked).toBe(5);
  });

  it('worked, and was refused soon, after three others: each hold lasts twice as long', async () => {
    const first = await world.member();
    let token = await first.shared.get();
    for (let n = 0; n < 3; n += 1) {
      await world.prove();
      token = await die(first.shared, token);
    }
    for (const retryInMs of [2000, 4000, 8000]) {
      // A new process each time: the one before remembers the refusal by itself.
      const { shared, events } = await world.member();
      await shared.get();
      await world.prove();
      await world.age(60_000);
      await expect(shared.renew(token, INVALID)).rejects.toMatchObject({
        hold: 'token-contested',
        retryInMs,
      });
      expect(events).toContainEqual({ kind: 'contested', retryInMs });
      await world.forgetRefusal();
      token = (await (await world.member()).shared.renew(token, INVALID)) ?? token;
    }
    expect(world.issuer.asked).toBe(7);
  });

  it.each<[string, number, boolean]>([
    ['after ten minutes each', 600_000, false],
    ['of which this fleet had replaced each', 60_000, true],
  ])('is not contested by refusals %s', async (_, ageMs, isOwn) => {
    const { shared, events } = await world.member();
    let token = await shared.get();
    for (let n = 0; n < 6; n += 1) {
      await world.prove();
      token = await die(shared, token, ageMs, isOwn ? Infinity : -Infinity);
    }
    expect(events.filter(({ kind }) => kind === 'contested')).toEqual([]);
    expect(world.issuer.asked).toBe(7);
  });

  it('is not contested when a call worked in between', async () => {
    const { shared } = await world.member();
    let token = await shared.get();
    for (let n = 0; n < 4; n += 1) {
      token = await refuse(shared, token);
      shared.accepted(token);
      await until(async () => (await shared.status()).token?.proven, { what: 'the proof' });
    }
    expect(world.issuer.asked).toBe(5);
  });
});

import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Token } from '../../src/contracts/token.ts';
import { NoticeQueueError, TokenRefusedError } from '../../src/contracts/errors.ts';
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
  it('asks the service once, however many ask the slot', async () => {
    world.issuer.always(() => Promise.reject(new NoticeQueueError('INVALID_ACCESS_KEY')));
    const fleet = await Promise.all(Array.from({ length: 3 }, () => world.member()));
    const results = await Promise.allSettled(
      fleet.flatMap(({ slot }) => Array.from({ length: 50 }, () => slot.get())),
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
    const { slot } = await world.member();
    await expect(slot.get()).rejects.toBeInstanceOf(TokenRefusedError);
    const before = await scriptCalls(redis.client);
    const error: unknown = await slot.get().catch((e: unknown) => e);
    expect(error).toMatchObject({ refusalCode: 'ACCESS_KEY_NOT_APPROVED' });
    expect(await scriptCalls(redis.client)).toBe(before);
    await until(() => slot.get().catch(() => false), { what: 'the end of the refusal' });
    expect(world.issuer.asked).toBe(2);
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
    const { slot, events } = await world.member();
    const error: unknown = await slot.get().catch((e: unknown) => e);
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
    const { slot } = await world.member();
    const began = performance.now();
    await expect(slot.get()).rejects.toMatchObject({ hold: 'token-unavailable' });
    expect(performance.now() - began).toBeLessThan(5_000);
    await aborted.promise;
    expect(await redis.client.exists(world.keys.lock)).toBe(0);
  });

  it('stops at the budget, under the name of contested, and says so once', async () => {
    world = new World(redis, { budget: 3 });
    const { slot, events } = await world.member();
    let token = await slot.get();
    for (let n = 0; n < 2; n += 1) {
      await world.prove();
      await world.age(60_000);
      token = await slot.renew(token, 401);
    }
    await world.prove();
    await world.age(60_000);
    await expect(slot.renew(token, 401)).rejects.toMatchObject({
      code: 'TOKEN_CONTESTED',
      hold: 'token-contested',
      retryInMs: 60_000,
    });
    await expect(slot.get()).rejects.toMatchObject({ hold: 'token-contested' });
    expect(events.filter(({ kind }) => kind === 'contested')).toHaveLength(1);
    expect(world.issuer.asked).toBe(3);
  });
});

describe('a contested token', () => {
  /** Renews a token that is old enough and never worked, past the memory of the last refusal. */
  async function refuse(slot: { renew(t: Token, s: 401): Promise<Token> }, token: Token) {
    await world.age(60_000);
    return await slot.renew(token, 401);
  }

  it('is one that never worked after one that never worked; each probe waits twice as long', async () => {
    const first = await world.member();
    let token = await first.slot.get();
    token = await refuse(first.slot, token);
    for (const retryInMs of [2000, 4000, 8000]) {
      // A new process each time: the one before remembers the refusal by itself.
      const { slot, events } = await world.member();
      await slot.get();
      await expect(refuse(slot, token)).rejects.toMatchObject({
        hold: 'token-contested',
        retryInMs,
      });
      expect(events).toContainEqual({ kind: 'contested', retryInMs });
      await world.forgetRefusal();
      token = await (await world.member()).slot.renew(token, 401);
    }
    expect(world.issuer.asked).toBe(5);
  });

  it('is none where a call worked in between', async () => {
    const { slot } = await world.member();
    let token = await slot.get();
    for (let n = 0; n < 4; n += 1) {
      token = await refuse(slot, token);
      slot.accepted(token);
      await until(async () => (await slot.status()).token?.proven, { what: 'the proof' });
    }
    expect(world.issuer.asked).toBe(5);
  });
});

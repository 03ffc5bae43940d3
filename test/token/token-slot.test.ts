import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RefusalStatus, Token } from '../../src/contracts/token.ts';
import { NoticeQueueError, TokenRefusedError } from '../../src/errors.ts';
import { readTokenStatus } from '../../src/token/token-status.ts';
import { testRedis } from '../support/redis.ts';
import { signal, until } from '../support/wait.ts';
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
    const before = await scriptCalls();
    await Promise.all(Array.from({ length: 100 }, () => another.get()));
    expect(await scriptCalls()).toBe(before + 1);
  });

  it('costs Redis nothing in steady state: no command in 10,000 sends', async () => {
    const { slot } = await world.member();
    const first = await slot.get();
    slot.accepted(first);
    await until(async () => (await slot.status()).token?.proven, { what: 'the proof' });
    const before = await commands();
    for (let n = 0; n < 10_000; n += 1) slot.accepted(await slot.get());
    expect(await commands()).toBe(before);
  });

  it('proves a token once for each process', async () => {
    const { slot } = await world.member();
    const token = await slot.get();
    for (let n = 0; n < 100; n += 1) slot.accepted(token);
    await until(async () => (await slot.status()).token?.proven, { what: 'the proof' });
    const before = await scriptCalls();
    const { slot: later } = await world.member();
    later.accepted(await later.get());
    slot.accepted(await slot.get());
    await redis.client.ping();
    expect(await scriptCalls()).toBe(before + 1);
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
    expect(performance.now() - stored).toBeLessThan(400);
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
    await expect(slot.get(AbortSignal.timeout(2000))).resolves.toMatchObject({ value: 'value-1' });
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
    const before = await scriptCalls();
    await expect(one.slot.renew(old, 401)).resolves.toEqual(current);
    expect(await scriptCalls()).toBe(before);
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
    const before = await scriptCalls();
    const error: unknown = await slot.get().catch((e: unknown) => e);
    expect(error).toMatchObject({ refusalCode: 'ACCESS_KEY_NOT_APPROVED' });
    expect(await scriptCalls()).toBe(before);
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
    world = new World(redis, { lockTtlMs: 1000, issueDeadlineMs: 300 });
    const aborted = signal();
    world.issuer.plan((over) => {
      over.addEventListener('abort', () => aborted.resolve());
      return new Promise(() => undefined);
    });
    const { slot } = await world.member();
    const began = performance.now();
    await expect(slot.get()).rejects.toMatchObject({ hold: 'token-unavailable' });
    expect(performance.now() - began).toBeLessThan(900);
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

/** Scripts run by the server so far. */
async function scriptCalls(): Promise<number> {
  const stats = await redis.client.info('commandstats');
  const calls = (command: string) =>
    Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
  return calls('evalsha') + calls('eval');
}

/** Commands run by the server so far, but for the INFO that asks. */
async function commands(): Promise<number> {
  const stats = await redis.client.info('commandstats');
  let sum = 0;
  for (const [, command, calls] of stats.matchAll(/cmdstat_([^:]+):calls=(\d+)/g)) {
    if (command !== 'info') sum += Number(calls);
  }
  return sum;
}

import { afterEach, describe, expect, it, vi } from 'vitest';
import {
  readRateLimit,
  setManualRateLimit,
} from '../../../src/fleet/rate-limit/rate-limit-state.ts';
import { PERMIT_LASTS_MS, RateLimiter } from '../../../src/fleet/rate-limit/rate-limiter.ts';
import type { WorkerConfig } from '../../../src/config/config.ts';
import type { LaneName } from '../../../src/contracts/outcome.ts';
import { pause } from '../../../src/async/cancellation.ts';
import { hintChannel, Hints } from '../../../src/redis/hints.ts';
import type { Keys } from '../../../src/redis/keys.ts';
import { testRedis } from '../../support/redis.ts';
import { signal, until } from '../../support/wait.ts';
import { callsByCommand } from '../../token/support/server-calls.ts';

const SETTINGS: WorkerConfig['rateLimit'] = {
  limit: 0,
  floor: 1,
  fallPercent: 50,
  recoveryMs: 1e12,
};

describe('RateLimiter', () => {
  const redis = testRedis();
  const limiters: RateLimiter[] = [];

  afterEach(() => {
    for (const limiter of limiters.splice(0)) limiter.stop();
  });

  const freshKeys = () => redis.account().keys;

  /** The rate limiter of one process of the fleet. */
  async function process(keys: Keys, settings: Partial<WorkerConfig['rateLimit']> = {}) {
    const hints = new Hints(redis.connect({ name: 'hints', forWorker: true }));
    const client = redis.connect({ name: 'limiter', forWorker: true });
    const listening = signal();
    const heard: string[] = [];
    const decreases: { from: number; to: number }[] = [];
    const errors: unknown[] = [];
    const limiter = new RateLimiter(
      client,
      hints,
      keys,
      { ...SETTINGS, ...settings },
      {
        onDecrease: (decrease) => decreases.push(decrease),
        onError: (error) => errors.push(error),
      },
    );
    limiters.push(limiter);
    limiter.start();
    // After the limiter's own listener, so that what is heard here was heard there.
    hints.subscribe(hintChannel(redis.client, keys.rateLimitHints), (text) => {
      if (text === undefined) listening.resolve();
      else heard.push(text);
    });
    await listening.promise;
    return { limiter, client, heard, decreases, errors };
  }

  /** Takes a permit and uses it; answers when, by the monotonic clock. */
  async function send(limiter: RateLimiter): Promise<number | undefined> {
    const permit = await limiter.take(new AbortController().signal, 'notices');
    return permit?.use() === true ? performance.now() : undefined;
  }

  const sendMany = (limiter: RateLimiter, count: number) =>
    Promise.all(Array.from({ length: count }, () => send(limiter)));

  /** Sends for longer than a second, which makes a rate, so many at a time. */
  async function sendAWhile(limiter: RateLimiter, atATime: number): Promise<void> {
    const endAt = performance.now() + 1_200;
    const send = async () => {
      await sendMany(limiter, atATime);
      return performance.now() > endAt;
    };
    await until(send, { what: 'the end of sending', deadlineMs: 20_000, everyMs: 10 });
  }

  /** Sends more than the limits of these tests allow in the second that they wait. */
  const untilFree = (limiter: RateLimiter) =>
    until(async () => !(await sendMany(limiter, 300)).includes(undefined), { what: 'no limit' });

  /** The commands that Redis counted meanwhile, without the INFO itself. */
  async function costOf(act: () => Promise<unknown>): Promise<Readonly<Record<string, number>>> {
    const before = await callsByCommand(redis.client);
    await act();
    const after = await callsByCommand(redis.client);
    const calls = [...after].map(
      ([name, count]) => [name, count - (before.get(name) ?? 0)] as const,
    );
    return Object.fromEntries(calls.filter(([name, count]) => count > 0 && name !== 'info'));
  }

  it('without a limit a thousand sends cost one command together', async () => {
    const { limiter } = await process(freshKeys());
    const cost = await costOf(async () => {
      for (let count = 0; count < 1_000; count++) expect(await send(limiter)).toBeDefined();
    });
    expect(cost).toMatchObject({ evalsha: 1, time: 1, hmget: 1 });
    expect(await costOf(() => sendMany(limiter, 1_000))).toEqual({});
  });

  it('after its own 429 a process that gets no hints asks for the limit again', async () => {
    const keys = freshKeys();
    const deaf = new RateLimiter(redis.client, { subscribe: () => () => {} }, keys, SETTINGS, {
      onDecrease: () => {},
      onError: () => {},
    });
    limiters.push(deaf);
    expect(await sendMany(deaf, 20)).not.toContain(undefined);
    expect(await costOf(() => send(deaf))).toEqual({});
    await deaf.throttled();
    expect(await costOf(() => send(deaf))).toMatchObject({ evalsha: 1 });
  });

  it('with a limit permits come in portions of a tenth of a second', async () => {
    const { limiter } = await process(freshKeys(), { limit: 1_000 });
    await send(limiter);
    let passed = 0;
    const cost = await costOf(async () => {
      const times = await sendMany(limiter, 500);
      passed = times.filter((time) => time !== undefined).length;
    });
    // More than five where this machine was too busy to use some in time.
    const { evalsha: portions = 0 } = cost;
    expect(passed).toBeGreaterThan(100);
    expect(passed).toBeLessThanOrEqual(100 * portions);
    expect(portions).toBeLessThanOrEqual(25);
    const each = { time: portions, hmget: portions, hset: portions, del: portions };
    expect(cost).toEqual({ evalsha: portions, ...each });
  });

  it('sends that follow each other fetch permits ahead', async () => {
    const { limiter } = await process(freshKeys(), { limit: 10_000 });
    let passed = 0;
    const { evalsha = 0 } = await costOf(async () => {
      for (let count = 0; count < 2_000; count++) {
        if ((await send(limiter)) !== undefined) passed += 1;
      }
    });
    expect(passed).toBeGreaterThan(1_900);
    expect(evalsha).toBeLessThanOrEqual(500);
  });

  it('a manual limit takes effect in processes that were unlimited, and can be lifted again', async () => {
    const keys = freshKeys();
    const { limiter, heard } = await process(keys, { limit: 0 });
    await sendMany(limiter, 10);
    await setManualRateLimit(redis.client, keys, 5);
    await until(() => heard.includes('changed'), { what: 'the hint' });
    const sent = await sendMany(limiter, 30);
    // Five at most in the second that they wait, and the one that is due at once.
    const passed = sent.filter((time) => time !== undefined).length;
    expect(passed).toBeGreaterThanOrEqual(1);
    expect(passed).toBeLessThanOrEqual(12);
    expect(await readRateLimit(redis.client, keys, 0)).toEqual({
      configured: 0,
      manual: 5,
      now: 5,
    });

    await setManualRateLimit(redis.client, keys, 0);
    await until(() => heard.length === 2, { what: 'the hint' });
    await untilFree(limiter);
    await setManualRateLimit(redis.client, keys, undefined);
    expect(await readRateLimit(redis.client, keys, 0)).toBeUndefined();
  });

  it('a limit that is set while the answer "unlimited" is on its way invalidates that answer', async () => {
    const keys = freshKeys();
    // Loads the script, so that the next process asks with one command.
    await send((await process(keys)).limiter);
    const { limiter, client, heard } = await process(keys);
    const [answered, goOn] = [signal(), signal()];
    const evalsha = client.evalsha.bind(client);
    vi.spyOn(client, 'evalsha').mockImplementationOnce(async (...args) => {
      const answer = await evalsha(...args);
      answered.resolve();
      await goOn.promise;
      return answer;
    });
    const waiting = sendMany(limiter, 30);
    await answered.promise;
    await setManualRateLimit(redis.client, keys, 5);
    await until(() => heard.includes('changed'), { what: 'the hint' });
    goOn.resolve();
    expect(await waiting).toContain(undefined);
    expect(await sendMany(limiter, 30)).toContain(undefined);
  });

  it('after a 429 without a limit all processes keep to half of their rate together', async () => {
    const keys = freshKeys();
    const [one, two, idle] = [await process(keys), await process(keys), await process(keys)];
    await Promise.all([sendAWhile(one.limiter, 6), sendAWhile(two.limiter, 3)]);
    await redis.client.hset(keys.workers, { one: '', two: '', idle: '' });
    await one.limiter.throttled();
    const [own] = one.decreases;
    expect(own?.to).toBeCloseTo((own?.from ?? NaN) / 2, 2);
    await until(() => idle.heard.length === 1, { what: 'the hint' });
    const limit = await readRateLimit(redis.client, keys, 0);
    expect(limit?.fall?.from).toBeCloseTo(own?.from ?? NaN, 1);
    expect(limit?.now).toBeCloseTo((limit?.fall?.from ?? NaN) / 2, 1);
    expect([...two.decreases, ...idle.decreases]).toEqual([]);
    // From now on each of them takes permits.
    const cost = await costOf(async () => {
      for (const { limiter } of [one, two, idle]) await send(limiter);
    });
    expect(cost['evalsha']).toBeGreaterThanOrEqual(3);
  });

  it('when Redis fails, nothing is sent, the job is requeued, and few errors are reported', async () => {
    const keys = freshKeys();
    await redis.client.set(keys.rateLimit, 'not a hash');
    const { limiter, errors } = await process(keys, { limit: 5 });
    expect(await sendMany(limiter, 3)).toEqual([undefined, undefined, undefined]);
    expect(errors.length).toBeGreaterThanOrEqual(1);
    expect(errors.length).toBeLessThanOrEqual(10);
    await redis.client.del(keys.rateLimit);
    expect(await until(() => send(limiter), { what: 'a permit' })).toBeDefined();
  });

  it('a permit is used once, not after it has expired, and a released one goes to the next waiter', async () => {
    const { limiter } = await process(freshKeys(), { limit: 1 });
    const wait = new AbortController();
    const [first, late] = [
      await limiter.take(wait.signal, 'notices'),
      limiter.take(wait.signal, 'notices'),
    ];
    first?.release();
    first?.release();
    expect(first?.use()).toBe(false);
    const second = await late;
    expect([second?.use(), second?.use()]).toEqual([true, false]);
    const third = await limiter.take(wait.signal, 'notices');
    await pause(PERMIT_LASTS_MS + 10);
    expect(third?.use()).toBe(false);
    third?.release();
    // The one after that is due in most of a second.
    const lost = new AbortController();
    const [cancelled, other] = [
      limiter.take(lost.signal, 'notices'),
      limiter.take(wait.signal, 'notices'),
    ];
    lost.abort();
    expect(await cancelled).toBeUndefined();
    expect((await other)?.use()).toBe(true);
  });

  it('the lanes take turns, so that a list delays no single notice', async () => {
    const { limiter } = await process(freshKeys(), { limit: 20 });
    const ends: string[] = [];
    const join = async (name: string, lane: LaneName) => {
      const permit = await limiter.take(new AbortController().signal, lane);
      ends.push(permit === undefined ? `${name} rejected` : name);
    };
    await Promise.all([
      ...['c1', 'c2', 'c3', 'c4'].map((name) => join(name, 'chunks')),
      ...['n1', 'n2'].map((name) => join(name, 'notices')),
    ]);
    expect(ends).toEqual(['n1', 'c1', 'n2', 'c2', 'c3', 'c4']);
  });

  it('waits for a permit no longer than permits are issued ahead, nor after a stop', async () => {
    const { limiter } = await process(freshKeys(), { limit: 1 });
    await send(limiter);
    const startedAt = performance.now();
    expect(await sendMany(limiter, 4)).toContain(undefined);
    expect(performance.now() - startedAt).toBeLessThan(1_900);
    const waiting = sendMany(limiter, 2);
    limiter.stop();
    expect(await waiting).toContain(undefined);
  });
});

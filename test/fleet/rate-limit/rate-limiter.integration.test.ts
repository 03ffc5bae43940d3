import { afterEach, describe, expect, it, vi } from 'vitest';
import { readRateLimit } from '../../../src/fleet/rate-limit/rate-limit-state.ts';
import {
  RateLimiter,
  setManualRateLimit,
  type LaneRateLimit,
  type RateLimitSettings,
} from '../../../src/fleet/rate-limit/rate-limiter.ts';
import { PERMIT_LASTS_MS } from '../../../src/fleet/rate-limit/permit-queue.ts';
import { hintChannel, Hints } from '../../../src/redis/hints.ts';
import { keysOf, type Keys } from '../../../src/redis/keys.ts';
import { testRedis } from '../../support/redis.ts';
import { signal, until } from '../../support/wait.ts';

const SETTINGS: RateLimitSettings = { limit: 0, floor: 1, fallPercent: 50, recoveryMs: 1e12 };

describe('RateLimiter', () => {
  const redis = testRedis();
  const limiters: RateLimiter[] = [];

  afterEach(() => {
    for (const limiter of limiters.splice(0)) limiter.stop();
  });

  const freshKeys = () => keysOf(redis.freshPrefix(), 'default');

  /** The rate limiter of one process of the fleet. */
  async function process(keys: Keys, settings: Partial<RateLimitSettings> = {}) {
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
    return { limiter, client, heard, decreases, errors, notices: limiter.lane('notices') };
  }

  /** Takes a permit and uses it; answers when, by the monotonic clock. */
  async function send(lane: LaneRateLimit): Promise<number | undefined> {
    const permit = await lane.take(new AbortController().signal);
    return permit?.use() === true ? performance.now() : undefined;
  }

  const sendMany = (lane: LaneRateLimit, count: number) =>
    Promise.all(Array.from({ length: count }, () => send(lane)));

  /** Sends for longer than a second, which makes a rate, so many at a time. */
  async function sendAWhile(lane: LaneRateLimit, atATime: number): Promise<void> {
    const endAt = performance.now() + 1_200;
    const send = async () => {
      await sendMany(lane, atATime);
      return performance.now() > endAt;
    };
    await until(send, { what: 'the end of sending', deadlineMs: 20_000, everyMs: 10 });
  }

  /** Sends more than the limits of these tests allow in the second that they wait. */
  const untilFree = (lane: LaneRateLimit) =>
    until(async () => !(await sendMany(lane, 300)).includes(undefined), { what: 'no limit' });

  /** The commands that Redis counted meanwhile, without the INFO itself. */
  async function costOf(act: () => Promise<unknown>): Promise<Readonly<Record<string, number>>> {
    const read = async () => {
      const stats = (await redis.client.info('commandstats')).matchAll(
        /^cmdstat_(\S+):calls=(\d+)/gm,
      );
      return new Map([...stats].map(([, name = '', calls]) => [name, Number(calls)]));
    };
    const before = await read();
    await act();
    const after = await read();
    const calls = [...after].map(
      ([name, count]) => [name, count - (before.get(name) ?? 0)] as const,
    );
    return Object.fromEntries(calls.filter(([name, count]) => count > 0 && name !== 'info'));
  }

  it('without a limit a thousand sends cost one command together', async () => {
    const { notices } = await process(freshKeys());
    const cost = await costOf(async () => {
      for (let count = 0; count < 1_000; count++) expect(await send(notices)).toBeDefined();
    });
    expect(cost).toMatchObject({ evalsha: 1, time: 1, hmget: 1 });
    expect(await costOf(() => sendMany(notices, 1_000))).toEqual({});
  });

  it('after its own 429 a process that gets no hints asks for the limit again', async () => {
    const keys = freshKeys();
    const deaf = new RateLimiter(redis.client, { subscribe: () => () => {} }, keys, SETTINGS, {
      onDecrease: () => {},
      onError: () => {},
    });
    limiters.push(deaf);
    const notices = deaf.lane('notices');
    expect(await sendMany(notices, 20)).not.toContain(undefined);
    expect(await costOf(() => send(notices))).toEqual({});
    await deaf.throttled();
    expect(await costOf(() => send(notices))).toMatchObject({ evalsha: 1 });
  });

  it('with a limit permits come in portions of a tenth of a second', async () => {
    const { notices } = await process(freshKeys(), { limit: 1_000 });
    await send(notices);
    let passed = 0;
    const cost = await costOf(async () => {
      const times = await sendMany(notices, 500);
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
    const { notices } = await process(freshKeys(), { limit: 10_000 });
    let passed = 0;
    const { evalsha = 0 } = await costOf(async () => {
      for (let count = 0; count < 2_000; count++) {
        if ((await send(notices)) !== undefined) passed += 1;
      }
    });
    expect(passed).toBeGreaterThan(1_900);
    expect(evalsha).toBeLessThanOrEqual(500);
  });

  it('two processes together keep the limit', async () => {
    const keys = freshKeys();
    const both = await Promise.all([process(keys, { limit: 100 }), process(keys, { limit: 100 })]);
    const many = await Promise.all(both.map(({ notices }) => sendMany(notices, 80)));
    const times = many.flat().filter((time) => time !== undefined);
    expect(times.length).toBeGreaterThan(20);
    times.sort((a, b) => a - b);
    for (const [first, from] of times.entries()) {
      for (const [last, to] of times.entries()) {
        if (last < first) continue;
        const most = (100 * (to - from + PERMIT_LASTS_MS)) / 1_000 + 1;
        // Half a second's worth for a machine that is blocked for a moment.
        expect(last - first + 1).toBeLessThanOrEqual(most + 50);
      }
    }
  });

  it('a manual limit takes effect in processes that were unlimited, and can be lifted again', async () => {
    const keys = freshKeys();
    const { notices, heard } = await process(keys, { limit: 0 });
    await sendMany(notices, 10);
    await setManualRateLimit(redis.client, keys, 5);
    await until(() => heard.includes('changed'), { what: 'the hint' });
    const sent = await sendMany(notices, 30);
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
    await untilFree(notices);
    await setManualRateLimit(redis.client, keys, undefined);
    expect(await readRateLimit(redis.client, keys, 0)).toBeUndefined();
  });

  it('a limit that is set while the answer "unlimited" is on its way invalidates that answer', async () => {
    const keys = freshKeys();
    // Loads the script, so that the next process asks with one command.
    await send((await process(keys)).notices);
    const { notices, client, heard } = await process(keys);
    const [answered, goOn] = [signal(), signal()];
    const evalsha = client.evalsha.bind(client);
    vi.spyOn(client, 'evalsha').mockImplementationOnce(async (...args) => {
      const answer = await evalsha(...args);
      answered.resolve();
      await goOn.promise;
      return answer;
    });
    const waiting = sendMany(notices, 30);
    await answered.promise;
    await setManualRateLimit(redis.client, keys, 5);
    await until(() => heard.includes('changed'), { what: 'the hint' });
    goOn.resolve();
    expect(await waiting).toContain(undefined);
    expect(await sendMany(notices, 30)).toContain(undefined);
  });

  it('"off" replaces the configured limit, "default" returns to it', async () => {
    const keys = freshKeys();
    const { notices, heard } = await process(keys, { limit: 5 });
    await setManualRateLimit(redis.client, keys, 0);
    await until(() => heard.length === 1, { what: 'the hint' });
    await untilFree(notices);
    await setManualRateLimit(redis.client, keys, undefined);
    await until(() => heard.length === 2, { what: 'the hint' });
    expect(await sendMany(notices, 30)).toContain(undefined);
    expect(await readRateLimit(redis.client, keys, 0)).toEqual({ configured: 5, now: 5 });
  });

  it('a hold that is placed meanwhile rejects the waiters', async () => {
    const keys = freshKeys();
    const { limiter, notices } = await process(keys, { limit: 2 });
    await send(notices);
    const waiting = sendMany(notices, 3);
    limiter.rejectAll();
    const times = await waiting;
    expect(times.filter((time) => time === undefined).length).toBeGreaterThanOrEqual(2);
  });

  it('after a 429 without a limit all processes keep to half of their rate together', async () => {
    const keys = freshKeys();
    const [one, two, idle] = [await process(keys), await process(keys), await process(keys)];
    await Promise.all([sendAWhile(one.notices, 6), sendAWhile(two.notices, 3)]);
    await redis.client.zadd(keys.workers, 1, 'one', 1, 'two', 1, 'idle');
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
      for (const { notices } of [one, two, idle]) await send(notices);
    });
    expect(cost['evalsha']).toBeGreaterThanOrEqual(3);
  });

  it('a 429 right after the start causes no limit', async () => {
    const keys = freshKeys();
    const { limiter, notices, decreases } = await process(keys);
    await sendMany(notices, 200);
    await limiter.throttled();
    expect(decreases[0]).toMatchObject({ from: 0 });
    expect((await readRateLimit(redis.client, keys, 0))?.now).toBeUndefined();
    await untilFree(notices);
  });

  it('once it has risen beyond the refused rate, there is no limit any more', async () => {
    const keys = freshKeys();
    const { limiter, notices } = await process(keys, { recoveryMs: 1_000 });
    await sendAWhile(notices, 5);
    await limiter.throttled();
    expect((await readRateLimit(redis.client, keys, 0))?.now).toBeDefined();
    await until(async () => (await readRateLimit(redis.client, keys, 0))?.now === undefined, {
      what: 'the limit to end',
    });
    await until(
      async () => {
        await send(notices);
        return (await costOf(() => sendMany(notices, 100)))['evalsha'] === undefined;
      },
      { what: 'sends that cost nothing' },
    );
  });

  it('when Redis fails, nothing is sent, the job is requeued, and few errors are reported', async () => {
    const keys = freshKeys();
    await redis.client.set(keys.rateLimit, 'not a hash');
    const { notices, errors } = await process(keys, { limit: 5 });
    expect(await sendMany(notices, 3)).toEqual([undefined, undefined, undefined]);
    expect(errors.length).toBeGreaterThanOrEqual(1);
    expect(errors.length).toBeLessThanOrEqual(10);
    await redis.client.del(keys.rateLimit);
    expect(await until(() => send(notices), { what: 'a permit' })).toBeDefined();
  });

  it('a stop rejects the waiters', async () => {
    const { limiter, notices } = await process(freshKeys(), { limit: 1 });
    await send(notices);
    const waiting = send(notices);
    limiter.stop();
    expect(await waiting).toBeUndefined();
  });
});

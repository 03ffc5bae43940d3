import { describe, expect, it } from 'vitest';
import { ADD_ONCE_MS } from '../../src/producer/planned-job.ts';
import { readQueueOptions } from '../../src/producer/options.ts';
import { RedisCalls, type CallLimits } from '../../src/producer/redis-calls.ts';
import { readyWithin } from '../../src/redis/connect.ts';
import { connectThrough } from '../redis/support/connect-through.ts';
import { testRedis } from '../support/redis.ts';
import { signal, until } from '../support/wait.ts';

const redis = testRedis();

type Bench = Awaited<ReturnType<typeof open>>;

async function open(limits: Partial<CallLimits> = {}) {
  const { client, proxy } = await connectThrough(redis.url, 'producer');
  const calls = new RedisCalls(client, { timeoutMs: 5_000, repeatWithinMs: 5_000, ...limits });
  expect(await readyWithin(client, 5_000)).toBe(true);
  // A counter in Redis: each execution of its command adds one.
  return { calls, client, proxy, key: `${redis.freshPrefix()}:count` };
}

describe('a call whose reply is lost', () => {
  it('is not written again once Redis may no longer detect the repetition', async () => {
    const { calls, client, proxy, key } = await open({ repeatWithinMs: 50 });
    await proxy.place({ kind: 'drop-reply', when: key, times: 1 });
    // A connection is opened again after 100 ms at the earliest.
    await expect(calls.run(() => client.incr(key))).rejects.toMatchObject({
      code: 'QUEUE_UNAVAILABLE',
      message: expect.stringContaining('may or may not have been queued') as string,
    });
    expect(await redis.client.get(key)).toBe('1');
    expect(await calls.run(() => client.incr(key))).toBe(2);
  });

  it('and whose repetition is refused may have been executed', async () => {
    const { calls, client, proxy, key } = await open();
    await proxy.place({ kind: 'drop-reply', when: key, times: 1 });
    let writes = 0;
    const refused = "return redis.error_reply('OOM command not allowed')";
    const call = calls.run(() =>
      (writes += 1) === 1 ? client.incr(key) : client.eval(refused, 0),
    );
    await expect(call).rejects.toMatchObject({
      code: 'QUEUE_UNAVAILABLE',
      message: expect.stringMatching(/OOM.*may or may not have been queued/) as string,
    });
    expect([writes, await redis.client.get(key)]).toEqual([2, '1']);
  });

  it('and whose connection is then refused may have been executed', async () => {
    const { calls, client, proxy, key } = await open({ timeoutMs: 300 });
    const call = calls.run(() => {
      client.incr(key).catch(() => {});
      return signal().promise;
    });
    const failed = call.catch((error: unknown) => error);
    await until(async () => (await redis.client.get(key)) === '1', { what: 'the command' });
    await proxy.close();
    calls.noteError(new Error('WRONGPASS invalid username-password pair'));
    expect(await failed).toMatchObject({
      code: 'QUEUE_UNAVAILABLE',
      message: expect.stringMatching(/WRONGPASS.*may or may not have been queued/) as string,
    });
  });
});

describe('a connection that died in silence', () => {
  // Far less than the 15 s after which the client itself gives a silent connection up.
  const SOON = { what: 'an answer', deadlineMs: 5_000 };

  const answersOf = ({ calls, client, key }: Bench) => {
    const incremented = () => calls.run(() => client.incr(key)).catch(() => undefined);
    return () => until(incremented, SOON);
  };

  it('is opened again when the time of a call is over', async () => {
    const bench = await open({ timeoutMs: 300 });
    await bench.proxy.place({ kind: 'stale', by: 'silence' });
    const failed = bench.calls.run(() => bench.client.incr(bench.key));
    await expect(failed).rejects.toMatchObject({ code: 'QUEUE_UNAVAILABLE' });
    expect(await answersOf(bench)()).toBe(1);
    expect(bench.proxy.struck).toBe(1);
  });

  it('before it was ready: also', async () => {
    const bench = await open({ timeoutMs: 300 });
    await bench.proxy.place({ kind: 'black-hole', after: 'dead' });
    const failed = bench.calls.run(() => bench.client.incr(bench.key));
    await expect(failed).rejects.toMatchObject({ code: 'QUEUE_UNAVAILABLE' });
    await until(() => bench.client.status === 'connect', { what: 'the next connection' });
    await bench.proxy.heal();
    expect(await answersOf(bench)()).toBe(1);
  });
});

it('a connection that cannot be opened because of a wrong option ends its calls in time', async () => {
  const { calls, client, proxy, key } = await open({ timeoutMs: 200 });
  await proxy.close();
  await until(() => client.status !== 'ready', { what: 'the connection to be lost' });
  const call = calls.run(() => client.incr(key));
  calls.noteError(new TypeError('no such protocol version'));
  await expect(call).rejects.toMatchObject({ code: 'QUEUE_UNAVAILABLE' });
});

it('the time limit is at most a quarter of the time for which Redis detects a repeated add', () => {
  const limit = ADD_ONCE_MS / 4;
  expect(readQueueOptions({ enqueueTimeoutMs: limit }).enqueueTimeoutMs).toBe(limit);
  expect(() => readQueueOptions({ enqueueTimeoutMs: limit + 1 })).toThrow('enqueueTimeoutMs');
});

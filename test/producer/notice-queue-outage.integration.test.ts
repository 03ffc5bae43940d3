import { inspect } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freePort } from '../../scripts/redis/free-port.ts';
import { NoticeQueue, NoticeQueueError, type NoticeQueueOptions } from '../../src/index.ts';
import { until } from '../support/wait.ts';
import { contactsOf, waitingIds, waitingJobs } from './support/stored-jobs.ts';
import { ownRedis } from '../support/own-redis.ts';

const PREFIX = 'outage';
const TIMEOUT_MS = 400;
/** A call must not take longer; not a benchmark, the machine may be busy. */
const BOUND_MS = TIMEOUT_MS + 2_500;

function open(url: string, options: NoticeQueueOptions = {}): NoticeQueue {
  const queue = new NoticeQueue({
    prefix: PREFIX,
    enqueueTimeoutMs: TIMEOUT_MS,
    ...options,
    redis: { url, connectTimeoutMs: TIMEOUT_MS, ...options.redis },
  });
  onTestFinished(() => queue.close());
  return queue;
}

const PERSONAL = ['01098765432', 'CANARY-VAR', 'CANARY-KEY', 'CANARY-PASSWORD'];
const NOTICE = {
  templateCode: 'T',
  contacts: [{ contact: '01098765432', var1: 'CANARY-VAR', fields: { deep: 'CANARY-VAR' } }],
};
const KEY = { idempotencyKey: 'CANARY-KEY' };

/** The error of a call, which must be ours, in time, and without anything personal in it. */
async function failureOf(call: Promise<unknown>): Promise<NoticeQueueError> {
  const startedAt = performance.now();
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(performance.now() - startedAt).toBeLessThan(BOUND_MS);
  expect(error).toBeInstanceOf(NoticeQueueError);
  const shown = `${inspect(error, { depth: 20, showHidden: true })}${JSON.stringify(error)}`;
  for (const text of PERSONAL) expect(shown).not.toContain(text);
  return error as NoticeQueueError;
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const startedAt = performance.now();
  await work;
  expect(performance.now() - startedAt).toBeLessThan(ms);
}

const recovered = (queue: NoticeQueue) =>
  until(() => queue.send(NOTICE, KEY).catch(() => undefined), {
    what: 'the same object to send again',
    deadlineMs: 15_000,
  });

describe('Redis away', () => {
  it('at construction: fails in time with the reason, and recovers by itself', async () => {
    const port = await freePort();
    const queue = open(`redis://127.0.0.1:${port}`);
    for (const call of [
      () => queue.send(NOTICE, KEY),
      () => queue.sendMany([NOTICE, NOTICE]),
      () => queue.sendMany([NOTICE], KEY),
    ]) {
      const error = await failureOf(call());
      expect(error.code).toBe('QUEUE_UNAVAILABLE');
      expect(error.message).toContain('nothing was queued');
      expect(error.message).toContain('ECONNREFUSED');
    }
    const { client } = await ownRedis({ port });
    const receipt = await recovered(queue);
    expect(await waitingIds(client, PREFIX)).toEqual([receipt.id]);
  });

  it('a host that does not exist', async () => {
    const error = await failureOf(open('rediss://nowhere.invalid:6379').send(NOTICE, KEY));
    expect(error.code).toBe('QUEUE_UNAVAILABLE');
  });

  it('killed later: fails in time, recovers with the same object, forgets nothing of its own', async () => {
    const { server, url, client } = await ownRedis();
    const queue = open(url);
    await queue.send(NOTICE, KEY);
    await server.kill('SIGKILL');
    const errors = await Promise.all(
      Array.from({ length: 20 }, () => failureOf(queue.send(NOTICE, KEY))),
    );
    expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(['QUEUE_UNAVAILABLE']));
    await server.restart();
    const receipt = await recovered(queue);
    expect(await waitingIds(client, PREFIX)).toEqual([receipt.id]);
  });

  it('back while a call waits for it: the call succeeds', async () => {
    const port = await freePort();
    const queue = open(`redis://127.0.0.1:${port}`, { enqueueTimeoutMs: 15_000 });
    const sending = queue.send(NOTICE, KEY);
    await ownRedis({ port });
    expect(await sending).toMatchObject({ duplicate: false });
  });
});

describe('Redis frozen', () => {
  it('fails in time; what lands after the thaw and is repeated is one job', async () => {
    const { server, url, client } = await ownRedis();
    const queue = open(url);
    // With a key, so that the connection has read the secret of the account.
    await queue.send({ ...NOTICE, templateCode: 'WARM' }, { idempotencyKey: 'warm' });
    await server.kill('SIGSTOP');
    const error = await failureOf(queue.send(NOTICE, KEY));
    expect(error.code).toBe('QUEUE_UNAVAILABLE');
    expect(error.message).toContain('may or may not have been queued');
    await server.kill('SIGCONT');

    await until(async () => (await waitingIds(client, PREFIX)).length === 2, {
      what: 'the late job to land',
    });
    expect(await recovered(queue)).toMatchObject({ duplicate: true });
    const jobs = await waitingJobs(client, PREFIX);
    expect(contactsOf(jobs)).toEqual(['01098765432', '01098765432']);
    expect(jobs.map(({ data }) => data.notice['templateCode'])).toEqual(['WARM', 'T']);
  });

  it('says that nothing was queued where it had not written a notice yet', async () => {
    const { server, url } = await ownRedis();
    const queue = open(url);
    // Without a key: the connection has not read the secret of the account.
    await queue.send(NOTICE);
    const other = open(url);
    await other.send(NOTICE, { idempotencyKey: 'warm' });
    await server.kill('SIGSTOP');
    for (const error of await Promise.all([
      failureOf(queue.send(NOTICE, KEY)),
      // Asks first which keys are in use.
      failureOf(other.sendMany([NOTICE, NOTICE], KEY)),
    ])) {
      expect(error.code).toBe('QUEUE_UNAVAILABLE');
      expect(error.message).toContain('nothing was queued');
    }
    await server.kill('SIGCONT');
  });

  it('at construction: fails in time and recovers by itself', async () => {
    const { server, url, client } = await ownRedis();
    await server.kill('SIGSTOP');
    const queue = open(url);
    expect((await failureOf(queue.send(NOTICE, KEY))).code).toBe('QUEUE_UNAVAILABLE');
    await server.kill('SIGCONT');
    await recovered(queue);
    expect(await waitingIds(client, PREFIX)).toHaveLength(1);
  });
});

describe('Redis that refuses', () => {
  it.each([
    ['is out of memory', 'CONFIG SET maxmemory 1', 'CONFIG SET maxmemory 0', 'out of memory'],
    ['is a read-only replica', 'REPLICAOF 127.0.0.1 1', 'REPLICAOF NO ONE', 'read-only'],
  ])('since it %s: QUEUE_REFUSED at once, and recovers', async (_what, refuse, repair, message) => {
    const { url, client } = await ownRedis();
    const run = (line: string) => {
      const [command = '', ...args] = line.split(' ');
      return client.call(command, ...args);
    };
    const queue = open(url);
    await queue.send({ ...NOTICE, templateCode: 'WARM' });
    await run(refuse);
    const calls = [queue.send(NOTICE, KEY), queue.sendMany([NOTICE, NOTICE])];
    for (const error of await Promise.all(calls.map((call) => failureOf(call)))) {
      expect(error.code).toBe('QUEUE_REFUSED');
      expect(error.message).toContain(message);
    }
    await run(repair);
    expect(await waitingIds(client, PREFIX)).toHaveLength(1);
    expect(await queue.send(NOTICE, KEY)).toMatchObject({ duplicate: false });
  });

  it.each([
    { what: 'a wrong password', redis: { password: 'CANARY-PASSWORD' }, message: 'password' },
    { what: 'no password', redis: {}, message: 'REDIS_PASSWORD' },
  ])('with $what: QUEUE_REFUSED with the reason', async ({ redis, message }) => {
    const { url } = await ownRedis({ args: ['--requirepass', 'right-password'] });
    const error = await failureOf(open(url, { redis }).send(NOTICE, KEY));
    expect(error.code).toBe('QUEUE_REFUSED');
    expect(error.message).toContain(message);
    const queue = open(url, { redis: { password: 'right-password' } });
    expect(await queue.send(NOTICE, KEY)).toMatchObject({ duplicate: false });
  });
});

describe('close', () => {
  const states: { state: string; prepare: () => Promise<NoticeQueue> }[] = [
    {
      state: 'connected',
      prepare: async () => {
        const queue = open((await ownRedis()).url);
        await queue.send(NOTICE);
        return queue;
      },
    },
    {
      state: 'Redis away from the start',
      prepare: async () => {
        const queue = open(`redis://127.0.0.1:${await freePort()}`);
        await failureOf(queue.send(NOTICE));
        return queue;
      },
    },
  ];
  it.each(states)('$state: ends in time, twice, and then QUEUE_CLOSED', async ({ prepare }) => {
    const queue = await prepare();
    await within(BOUND_MS, Promise.all([queue.close(), queue.close()]));
    await within(500, queue.close());
    for (const call of [queue.send(NOTICE), queue.sendMany([NOTICE]), queue.sendMany([])]) {
      expect((await failureOf(call)).code).toBe('QUEUE_CLOSED');
    }
  });

  it('lets the calls under way finish', async () => {
    const { url, client } = await ownRedis();
    const queue = open(url);
    // Not even connected yet.
    const sends = [queue.send(NOTICE), queue.sendMany([NOTICE, NOTICE])];
    await queue.close();
    await Promise.all(sends);
    expect(await waitingIds(client, PREFIX)).toHaveLength(3);
  });

  it('under way on a frozen Redis: the call fails in time, and so does close end', async () => {
    const { server, url } = await ownRedis();
    const queue = open(url);
    await queue.send(NOTICE);
    await server.kill('SIGSTOP');
    const sending = failureOf(queue.send(NOTICE, KEY));
    await within(BOUND_MS, queue.close());
    expect((await sending).code).toBe('QUEUE_UNAVAILABLE');
  });

  it('refuses a list that was still being read', async () => {
    const { url, client } = await ownRedis();
    const queue = open(url);
    const list = async function* () {
      yield NOTICE;
      await queue.close();
      yield NOTICE;
    };
    expect((await failureOf(queue.sendMany(list()))).code).toBe('QUEUE_CLOSED');
    expect(await waitingIds(client, PREFIX)).toEqual([]);
  });
});

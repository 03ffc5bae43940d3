import { Queue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from 'vitest';
import { startRedisServer } from '../../scripts/redis/redis-server.ts';
import { NoticeQueue, type NoticeQueueOptions } from '../../src/index.ts';
import { readNotice } from '../../src/contracts/read-notice.ts';
import { olderFingerprint } from '../../src/producer/plan-jobs.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';
import { until } from '../support/wait.ts';
import { contacts, contactsOf, waitingIds, waitingJobs } from './support/stored-jobs.ts';

const redis = testRedis();
const cleanups: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function queueIn(prefix: string, options: NoticeQueueOptions = {}): NoticeQueue {
  const queue = new NoticeQueue({ redis: connectionAs('producer', redis.url), prefix, ...options });
  cleanups.push(() => queue.close());
  return queue;
}

/** Runs the waiting jobs and removes them, as a worker does that keeps nothing. */
async function workOff(prefix: string, count: number): Promise<void> {
  let done = 0;
  const worker = new Worker('send', () => Promise.resolve(), {
    connection: redis.connect({ forWorker: true }),
    prefix: `{${prefix}:default}`,
    removeOnComplete: { count: 0 },
  });
  worker.on('error', () => {});
  worker.on('completed', () => (done += 1));
  await until(() => done === count, { what: `${count} jobs` });
  await worker.close();
  expect(await waitingIds(redis.client, prefix)).toEqual([]);
}

const NOTICE = { templateCode: 'ORDER', contacts: contacts(1) };
const KEY = { idempotencyKey: 'order-4711' };

describe('same key, one send', () => {
  it('the second call queues nothing, and its receipt names the first notice', async () => {
    const prefix = redis.freshPrefix();
    const first = await queueIn(prefix).send(NOTICE, KEY);
    const again = await queueIn(prefix).send(NOTICE, KEY);
    expect(first.duplicate).toBe(false);
    expect(again).toEqual({ ...first, duplicate: true });
    expect(await waitingIds(redis.client, prefix)).toEqual([first.id]);
  });

  it('whatever the other options and the order of the fields are', async () => {
    const prefix = redis.freshPrefix();
    const queue = queueIn(prefix);
    const notice = {
      templateCode: 'T',
      contacts: [{ contact: '0101', var1: 'a', x: { p: 1, q: 2 } }],
    };
    const turned = {
      contacts: [{ x: { q: 2, p: 1 }, var1: 'a', contact: '0101' }],
      templateCode: 'T',
    };
    const first = await queue.send(notice, KEY);
    const options = { ...KEY, delay: 5_000, priority: 3, expiresAt: Date.now() + 60_000 };
    expect(await queue.send(turned, options)).toEqual({ ...first, duplicate: true });
    expect(await waitingIds(redis.client, prefix)).toEqual([first.id]);
  });

  it('50 calls at once are one job and one new receipt', async () => {
    const prefix = redis.freshPrefix();
    const [one, two] = [queueIn(prefix, { chunkSize: 2 }), queueIn(prefix, { chunkSize: 2 })];
    const notice = { ...NOTICE, contacts: contacts(5) };
    const receipts = await Promise.all(
      Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? one : two).send(notice, KEY)),
    );
    expect(receipts.filter((receipt) => !receipt.duplicate)).toHaveLength(1);
    expect(new Set(receipts.map((receipt) => receipt.id)).size).toBe(1);
    const jobs = await waitingJobs(redis.client, prefix);
    expect(jobs.map(({ id }) => id)).toEqual(receipts[0]?.jobs);
    expect(contactsOf(jobs)).toEqual(contacts(5).map(({ contact }) => contact));
  });

  it('different keys, and no key, are different sends', async () => {
    const prefix = redis.freshPrefix();
    const queue = queueIn(prefix);
    await queue.send(NOTICE, KEY);
    await queue.send(NOTICE, { idempotencyKey: 'order-4712' });
    await queue.send(NOTICE);
    await queue.send(NOTICE);
    expect(await waitingIds(redis.client, prefix)).toHaveLength(4);
  });

  it('takes any key: colons, spaces, digits, another script', async () => {
    const prefix = redis.freshPrefix();
    const queue = queueIn(prefix);
    const keys = ['0', '7', 'a:b', '0:1:2', 'meta', ' ', '주문', 'x'.repeat(200), '__proto__'];
    for (const idempotencyKey of keys) {
      expect(await queue.send(NOTICE, { idempotencyKey })).toMatchObject({ duplicate: false });
      expect(await queue.send(NOTICE, { idempotencyKey })).toMatchObject({ duplicate: true });
    }
    expect(await waitingIds(redis.client, prefix)).toHaveLength(keys.length);
    expect((await redis.keys(prefix)).join()).not.toContain('주문');
  });
});

describe('same key, something else', () => {
  it.each([
    ['another template', { ...NOTICE, templateCode: 'OTHER' }],
    ['another contact', { ...NOTICE, contacts: contacts(1, 5) }],
    ['a contact more', { ...NOTICE, contacts: contacts(3) }],
    ['an unknown field more', { ...NOTICE, at: 'x' }],
  ])('%s: IDEMPOTENCY_CONFLICT, and nothing is queued', async (_, notice) => {
    const prefix = redis.freshPrefix();
    const queue = queueIn(prefix, { chunkSize: 2 });
    const first = await queue.send(NOTICE, KEY);
    await expect(queue.send(notice, KEY)).rejects.toMatchObject({
      name: 'NoticeQueueError',
      code: 'IDEMPOTENCY_CONFLICT',
    });
    expect(await waitingIds(redis.client, prefix)).toEqual([first.id]);
    // The first is still queued.
    expect(await queue.send(NOTICE, KEY)).toEqual({ ...first, duplicate: true });
  });
});

describe('the window', () => {
  it('outlives the jobs, which a worker removes when they are done', async () => {
    const prefix = redis.freshPrefix();
    const queue = queueIn(prefix, { chunkSize: 2 });
    const notice = { ...NOTICE, contacts: contacts(5) };
    const first = await queue.send(notice, KEY);
    await workOff(prefix, 3);
    expect(await queue.send(notice, KEY)).toEqual({ ...first, duplicate: true });
    expect(await waitingIds(redis.client, prefix)).toEqual([]);
  });

  it('ends: then the key is new', async () => {
    const prefix = redis.freshPrefix();
    const queue = queueIn(prefix, { chunkSize: 2, idempotencyWindowMs: 1_000 });
    const notice = { ...NOTICE, contacts: contacts(3) };
    const first = await queue.send(notice, KEY);
    const remembered = async () =>
      (await redis.keys(prefix)).filter((key) => key.includes(':de:')).length > 0;
    expect(await remembered()).toBe(true);
    await until(async () => !(await remembered()), { what: 'the window to end' });
    const second = await queue.send(notice, KEY);
    expect(second.duplicate).toBe(false);
    expect(second.id).not.toBe(first.id);
    expect(await waitingIds(redis.client, prefix)).toEqual([...first.jobs, ...second.jobs]);
  });

  it('of a delayed notice starts when it is due', async () => {
    const prefix = redis.freshPrefix();
    const queue = queueIn(prefix, { chunkSize: 2, idempotencyWindowMs: 1_000 });
    const notice = { ...NOTICE, contacts: contacts(3) };
    const later = { idempotencyKey: 'later', sendAt: Date.now() + 3_600_000 };
    const farthest = { idempotencyKey: 'farthest', delay: 366 * 24 * 3_600_000 };
    const delayed = await queue.send(notice, later);
    const latest = await queue.send(notice, farthest);
    const [head] = (await queue.send(NOTICE, KEY)).jobs;
    const windowOf = async (id: string | undefined) => {
      const keys = (await redis.keys(prefix)).filter((key) => key.includes(':de:'));
      const holders = keys.length === 0 ? [] : await redis.client.mget(keys);
      return keys[holders.indexOf(id ?? '')];
    };
    await until(async () => (await windowOf(head)) === undefined, {
      what: 'a window without a delay to end',
    });
    expect(await queue.send(notice, later)).toEqual({ ...delayed, duplicate: true });
    expect(await queue.send(notice, { idempotencyKey: 'later' })).toMatchObject({
      id: delayed.id,
      duplicate: true,
    });
    expect(await queue.send(notice, farthest)).toEqual({ ...latest, duplicate: true });
    // It ends a second after the notice is due, for every chunk.
    for (const id of delayed.jobs) {
      const left = await redis.client.pttl((await windowOf(id)) ?? '');
      expect(left).toBeGreaterThan(3_600_000 - 60_000);
      expect(left).toBeLessThanOrEqual(3_600_000 + 1_000);
    }
  });

  it('a key that is new again brings all its chunks, however late the old ones were added', async () => {
    const prefix = redis.freshPrefix();
    const queue = queueIn(prefix, { chunkSize: 2 });
    const notice = { ...NOTICE, contacts: contacts(3) };
    const first = await queue.send(notice, KEY);
    // The window of the first job ends before those of the other chunks.
    const heads = await Promise.all(
      (await redis.keys(prefix))
        .filter((key) => key.includes(':de:'))
        .map(async (key) => ({ key, id: await redis.client.get(key) })),
    );
    const head = heads.find(({ id }) => id === first.jobs[0]);
    await redis.client.del(head?.key ?? '');
    const second = await queue.send(notice, KEY);
    expect(second.duplicate).toBe(false);
    expect(await waitingIds(redis.client, prefix)).toEqual([...first.jobs, ...second.jobs]);
  });

  it('removing a job manually also removes its key', async () => {
    const prefix = redis.freshPrefix();
    const queue = queueIn(prefix);
    const first = await queue.send(NOTICE, KEY);
    const board = new Queue('send', { connection: redis.connect(), prefix: `{${prefix}:default}` });
    board.on('error', () => {});
    expect(await board.remove(first.id)).toBe(1);
    await board.close();
    expect(await queue.send(NOTICE, KEY)).toMatchObject({ duplicate: false });
  });
});

describe('a call that came through in part', () => {
  it('is completed by a repeated call, each chunk once, whatever its chunk size is by then', async () => {
    const server = await startRedisServer({ args: ['--maxmemory', '0'] });
    cleanups.push(() => server.close());
    const admin = redis.connect();
    const ours = admin.duplicate({ host: '127.0.0.1', port: server.port, db: 0 });
    ours.on('error', () => {});
    cleanups.push(() => Promise.resolve(ours.disconnect()));
    const prefix = 'partly';
    const open = (chunkSize: number) => {
      const queue = new NoticeQueue({
        redis: connectionAs('producer', server.url),
        prefix,
        chunkSize,
      });
      cleanups.push(() => queue.close());
      return queue;
    };
    const list = contacts(2_000).map((contact) => ({ ...contact, var1: 'x'.repeat(2_000) }));
    const notice = { templateCode: 'BIG', contacts: list };
    const queue = open(200);
    await queue.send({ ...NOTICE }, { idempotencyKey: 'warm' });
    const used = Number(/used_memory:(\d+)/.exec(await ours.info('memory'))?.[1]);
    await ours.config('SET', 'maxmemory', String(used + 1_500_000));

    await expect(queue.send(notice, KEY)).rejects.toMatchObject({ code: 'QUEUE_REFUSED' });
    const landed = (await waitingIds(ours, prefix)).length - 1;
    expect(landed).toBeGreaterThan(0);
    expect(landed).toBeLessThan(10);

    await ours.config('SET', 'maxmemory', '0');
    for (const again of [open(300), queue]) {
      const receipt = await again.send(notice, KEY);
      expect(receipt.duplicate).toBe(true);
      expect(receipt.jobs).toHaveLength(10);
      const [, ...jobs] = await waitingJobs(ours, prefix);
      expect(jobs.map(({ id }) => id).sort()).toEqual([...receipt.jobs].sort());
      expect(contactsOf(jobs).sort()).toEqual(list.map(({ contact }) => contact).sort());
    }
  });
});

describe('the id of a notice with a key', () => {
  const tried = (count: number) =>
    Array.from({ length: count }, (_, index) => `0100${String(index).padStart(7, '0')}`);

  it('does not show its number to those who try all', async () => {
    const prefix = redis.freshPrefix();
    const contact = '01000000042';
    const notice = { templateCode: 'T', contacts: [{ contact, var1: 'x' }] };
    const { id } = await queueIn(prefix).send(notice, KEY);
    const hits = tried(100).filter((number) => {
      const guess = { templateCode: 'T', contacts: [{ contact: number, var1: 'x' }] };
      return id.includes(`.${olderFingerprint(readNotice(guess))}.`);
    });
    expect(hits).toEqual([]);
  });

  it('is keyed with one secret of the account, which is read once', async () => {
    const prefix = redis.freshPrefix();
    const { secret } = keysOf(prefix, 'default');
    const queues = [queueIn(prefix), queueIn(prefix)];
    await queues[0]?.send(NOTICE);
    expect(await redis.client.exists(secret)).toBe(0);
    const receipts = await Promise.all(
      queues.flatMap((queue) => [queue.send(NOTICE, KEY), queue.send(NOTICE, KEY)]),
    );
    expect(receipts.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
    expect(await redis.client.get(secret)).toMatch(/^[\w-]{43}$/);
    // Another secret would make the same notice a conflict: it is not read again.
    await redis.client.set(secret, 'another');
    expect(await queues[0]?.send(NOTICE, KEY)).toMatchObject({ duplicate: true });
  });
});

describe('a Redis that has lost the secret', () => {
  it('gets it back from the producers that know it, so that a repeated call is a duplicate at each', async () => {
    const server = await startRedisServer();
    cleanups.push(() => server.close());
    const admin = new Redis(server.url, { maxRetriesPerRequest: 1 });
    admin.on('error', () => {});
    cleanups.push(() => Promise.resolve(admin.disconnect()));
    const { secret } = keysOf('lost', 'default');
    const open = () => {
      const queue = new NoticeQueue({
        redis: connectionAs('producer', server.url),
        prefix: 'lost',
      });
      cleanups.push(() => queue.close());
      return queue;
    };
    const first = open();
    await first.send(NOTICE, { idempotencyKey: 'warm' });
    const known = await admin.get(secret);
    const again = () =>
      until(() => first.send(NOTICE, { idempotencyKey: 'again' }).catch(() => undefined), {
        what: 'the producer to send again',
      });

    // It keeps nothing on disk.
    await server.restart();
    await again();
    expect(await admin.get(secret)).toBe(known);
    expect(await open().send(NOTICE, { idempotencyKey: 'again' })).toMatchObject({
      duplicate: true,
    });

    // A producer that starts before the others are back makes another secret, which all use from then on.
    await server.restart();
    await admin.set(secret, 'another');
    const receipt = await until(() => first.send(NOTICE, KEY).catch(() => undefined), {
      what: 'the producer to send again',
    });
    expect(await admin.get(secret)).toBe('another');
    expect(await open().send(NOTICE, KEY)).toEqual({ ...receipt, duplicate: true });
  }, 60_000);
});

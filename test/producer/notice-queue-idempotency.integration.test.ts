import { Queue } from 'bullmq';
import { describe, expect, it } from 'vitest';
import { keysOf } from '../../src/redis/keys.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';
import { contacts, contactsOf, queuesOn, waitingIds, waitingJobs } from './support/stored-jobs.ts';

const redis = testRedis();

const queueIn = queuesOn(redis);

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

  it('50 calls at once are one job and one new receipt', async () => {
    const prefix = redis.freshPrefix();
    const [one, two] = [queueIn(prefix), queueIn(prefix)];
    const notice = { ...NOTICE, contacts: contacts(5) };
    const receipts = await Promise.all(
      Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? one : two).send(notice, KEY)),
    );
    expect(receipts.filter((receipt) => !receipt.duplicate)).toHaveLength(1);
    expect(new Set(receipts.map((receipt) => receipt.id)).size).toBe(1);
    const jobs = await waitingJobs(redis.client, prefix);
    expect(jobs.map(({ id }) => id)).toEqual([receipts[0]?.id]);
    expect(contactsOf(jobs)).toEqual(contacts(5).map(({ contact }) => contact));
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
  it('is IDEMPOTENCY_CONFLICT, and nothing is queued', async () => {
    const notice = { ...NOTICE, contacts: contacts(1, 5) };
    const prefix = redis.freshPrefix();
    const queue = queueIn(prefix);
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
  it('ends: then the key is new', async () => {
    const prefix = redis.freshPrefix();
    const queue = queueIn(prefix, { idempotencyWindowMs: 1_000 });
    const notice = { ...NOTICE, contacts: contacts(3) };
    const first = await queue.send(notice, KEY);
    const remembered = async () =>
      (await redis.keys(prefix)).filter((key) => key.includes(':de:')).length > 0;
    expect(await remembered()).toBe(true);
    await until(async () => !(await remembered()), { what: 'the window to end' });
    const second = await queue.send(notice, KEY);
    expect(second.duplicate).toBe(false);
    expect(second.id).not.toBe(first.id);
    expect(await waitingIds(redis.client, prefix)).toEqual([first.id, second.id]);
  });

  it('answers a repeated call whose time has passed; without the key the time is judged', async () => {
    const prefix = redis.freshPrefix();
    const queue = queueIn(prefix);
    const first = await queue.send(NOTICE, KEY);
    const late = { ...KEY, expiresAt: Date.now() - 60_000 };
    expect(await queue.send(NOTICE, late)).toEqual({ ...first, duplicate: true });
    const other = { ...NOTICE, templateCode: 'OTHER' };
    await expect(queue.send(other, late)).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
    const unknown = { ...late, idempotencyKey: 'never-used' };
    await expect(queue.send(NOTICE, unknown)).rejects.toMatchObject({
      code: 'NOTICE_INVALID',
      issues: [{ field: 'options.expiresAt' }],
    });
    const each = (_: unknown, index: number) => (index === 0 ? late : unknown);
    await expect(queue.sendMany([NOTICE, NOTICE], each)).rejects.toMatchObject({
      issues: [{ field: 'notices[1] options.expiresAt' }],
    });
    expect(await waitingIds(redis.client, prefix)).toEqual([first.id]);
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

describe('the id of a notice with a key', () => {
  it('is keyed with one secret of the account, which is read once', async () => {
    const prefix = redis.freshPrefix();
    const { account } = keysOf(prefix, 'default');
    const queues = [queueIn(prefix), queueIn(prefix)];
    await queues[0]?.send(NOTICE);
    expect(await redis.client.exists(account)).toBe(0);
    const receipts = await Promise.all(
      queues.flatMap((queue) => [queue.send(NOTICE, KEY), queue.send(NOTICE, KEY)]),
    );
    expect(receipts.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
    expect(await redis.client.hget(account, 'secret plain')).toMatch(/^[\w-]{43}$/);
    // Another account would make the same notice a conflict: it is not read again.
    await redis.client.hset(account, 'secret plain', 'another');
    expect(await queues[0]?.send(NOTICE, KEY)).toMatchObject({ duplicate: true });
  });
});

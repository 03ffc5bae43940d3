import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { placeManualHold } from '../../src/fleet/hold/holds.ts';
import { NoticeQueue, type NoticeQueueOptions } from '../../src/index.ts';
import { commandsDuring } from '../ops/web/support/commands.ts';
import { contacts } from '../producer/support/stored-jobs.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';
import { until } from '../support/wait.ts';
import { NOTICE, noticeWorld } from './support/notice-world.ts';
import { ownRedis } from '../support/own-redis.ts';

const redis = testRedis();
const NUMBER = /0100\d{6,}/;
const time = expect.any(Number) as number;

const open = (options?: NoticeQueueOptions) => noticeWorld(redis, options);

const pendingOf = async (queue: NoticeQueue, id: string) => (await queue.get(id)).pending;

describe('a notice that waits', () => {
  it('waits for a worker, with what is known of it', async () => {
    const { queue } = open();
    const { id } = await queue.send(NOTICE, { expiresAt: Date.now() + 3_600_000 });
    expect(await queue.get(id)).toEqual({
      id,
      state: 'pending',
      pending: { reason: 'waiting' },
      template: 'ORDER',
      contacts: 1,
      delivery: 'at-least-once',
      attempts: 0,
      possiblySent: 0,
      enqueuedAt: time,
      expiresAt: time,
    });
  });

  it('is delayed, with its time', async () => {
    const { queue } = open();
    const sendAt = Date.now() + 3_600_000;
    const { id } = await queue.send(NOTICE, { sendAt });
    const pending = await pendingOf(queue, id);
    if (pending?.reason !== 'delayed') throw new Error('it is not delayed');
    expect(Math.abs(pending.until - sendAt)).toBeLessThan(10_000);
  });

  it('is held, with the reason and the remedy; also one with a priority', async () => {
    const { queue, keys } = open();
    const [plain, later] = [await queue.send(NOTICE), await queue.send(NOTICE, { priority: 5 })];
    await placeManualHold(redis.client, keys, 'wrong template');
    for (const { id } of [plain, later]) {
      expect(await pendingOf(queue, id)).toEqual({
        reason: 'held',
        hold: 'manual',
        since: time,
        meaning: 'held manually',
        remedy: 'lift the hold when its cause is gone',
      });
    }
  });

  it('waits for the rate limit', async () => {
    const { queue, worker } = open();
    // One at a time, in their order: with more, any of them may be sent before it waits.
    await worker({ RATE_LIMIT: '1', CONCURRENCY: '1' });
    const sent = await queue.sendMany(Array.from({ length: 20 }, () => NOTICE));
    const last = sent.at(-1)?.id ?? '';
    const limited = await until(
      async () => {
        const pending = await pendingOf(queue, last);
        return pending?.reason === 'rate-limited' ? pending : undefined;
      },
      { what: 'a notice that waits for the rate limit' },
    );
    expect(limited).toEqual({ reason: 'rate-limited' });
  });

  it('is found by its idempotency key', async () => {
    const { queue } = open();
    const one = await queue.send(NOTICE, { idempotencyKey: 'order/1' });
    const two = await queue.send(
      { ...NOTICE, contacts: contacts(3) },
      { idempotencyKey: 'order 2, "한"' },
    );
    expect(await queue.get({ idempotencyKey: 'order/1' })).toEqual(await queue.get(one.id));
    const view = await queue.get({ idempotencyKey: 'order 2, "한"' });
    expect(view).toEqual(await queue.get(two.id));
    expect(view).toMatchObject({ id: two.id, state: 'pending', contacts: 3 });
  });
});

describe('a notice that was sent', () => {
  it('is accepted or rejected, with its code, remedy and times; no number is shown', async () => {
    const { queue, worker, reaching } = open();
    await worker({}, { rejectContacts: ['01000000002'] });
    const good = await queue.send(NOTICE);
    const bad = await queue.send({ ...NOTICE, contacts: [{ contact: '01000000002' }] });
    const kept = { acceptedMs: 3_600_000, acceptedCount: 10_000, failedMs: 604_800_000 };
    const ended = { enqueuedAt: time, startedAt: time, endedAt: time, kept };
    expect(await reaching(good.id, 'accepted')).toEqual({
      id: good.id,
      state: 'accepted',
      confirmed: true,
      template: 'ORDER',
      contacts: 1,
      delivery: 'at-least-once',
      attempts: 1,
      possiblySent: 0,
      ...ended,
    });
    const view = await reaching(bad.id, 'rejected');
    expect(view).toMatchObject({ attempts: 1, possiblySent: 0, code: 'INVALID_CONTACT', ...ended });
    expect(view.message).toMatch(/^HTTP 400/);
    expect(view.remedy).toMatch(/the code and the message/);
    expect(JSON.stringify(view)).not.toMatch(NUMBER);
  });

  it('is delayed between two attempts, and possibly sent', async () => {
    const { queue, worker } = open();
    await worker({}, { faults: [{ on: 'send', times: 1, reset: 'after-acting' }] });
    const { id } = await queue.send(NOTICE);
    const view = await until(
      async () => {
        const found = await queue.get(id);
        return found.pending?.reason === 'delayed' ? found : undefined;
      },
      { what: 'the second attempt to be delayed', deadlineMs: 20_000 },
    );
    expect(view).toMatchObject({ state: 'pending', attempts: 1, possiblySent: 1 });
    expect(view.remedy).toBe('Wait: it is tried again.');
  });
});

describe('what is not kept', () => {
  it.each([
    'n-AAAAAAAAAAAAAAAA',
    'wait',
    'meta',
    'de:x',
    '../../etc/passwd',
    'a b\n"\'<script>',
    '한국어 id',
    '%00',
    'x'.repeat(200),
  ])('%j: not-kept, and how long things are kept', async (id) => {
    const { queue } = open();
    await queue.send(NOTICE);
    expect(await queue.get(id)).toEqual({
      id,
      state: 'not-kept',
      contacts: 0,
      attempts: 0,
      possiblySent: 0,
    });
  });

  it('a notice of another account, an unknown key', async () => {
    const { prefix, queue } = open();
    const { id } = await open({ prefix, account: 'other' }).queue.send(NOTICE, {
      idempotencyKey: 'k',
    });
    expect(await queue.get(id)).toMatchObject({ id, state: 'not-kept' });
    expect(await queue.get({ idempotencyKey: 'k' })).toMatchObject({ id: '', state: 'not-kept' });
  });

  it.each([
    ['', 'id: expected an id, got an empty string'],
    ['x'.repeat(201), 'id: expected at most 200 characters'],
    [7 as unknown as string, 'id: expected an id as text'],
    [{ idempotencyKey: '' }, 'idempotencyKey: expected a key, got an empty string'],
    [{} as { idempotencyKey: string }, 'idempotencyKey: expected text'],
  ])('%j is refused', async (ref, problem) => {
    const { queue } = open();
    await expect(queue.get(ref)).rejects.toMatchObject({
      code: 'NOTICE_INVALID',
      message: expect.stringContaining(problem) as string,
    });
  });
});

describe('what a look-up costs', async () => {
  const { server } = await ownRedis({}, afterAll);

  it('one round trip; a queue of any length costs the same, and a send nothing more', async () => {
    const queue = new NoticeQueue({ redis: connectionAs('producer', server.url) });
    onTestFinished(() => queue.close());
    const { id } = await queue.send(NOTICE);
    await queue.get(id);
    const during = (work: () => Promise<unknown>) => commandsDuring(server.url, work);
    const few = await during(() => queue.get(id));
    expect(few['evalsha']).toBe(1);
    expect(Object.values(few).reduce((sum, calls) => sum + calls, 0)).toBeLessThan(25);
    await queue.sendMany(Array.from({ length: 2_000 }, () => NOTICE));
    expect(await during(() => queue.get(id))).toEqual(few);
    const none = await during(() => queue.get('n-AAAAAAAAAAAAAAAA'));
    expect(Object.values(none).reduce((sum, calls) => sum + calls, 0)).toBeLessThan(15);
    const send = await during(() => queue.send(NOTICE));
    expect(send['evalsha']).toBe(1);
  });
});

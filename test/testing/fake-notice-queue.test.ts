import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import type { Notice } from '../../src/contracts/notice.ts';
import { NoticeQueue, type Notices } from '../../src/index.ts';
import { FakeNoticeQueue } from '../../src/testing/index.ts';

const NOTICE: Notice = { templateCode: 'SHIPPED', contacts: [{ contact: '01012345678' }] };
const KEY = { idempotencyKey: 'order-1' };

describe('a fake queue', () => {
  it('has every method of the real one', () => {
    const names = (kind: { prototype: object }) =>
      Reflect.ownKeys(kind.prototype).filter((name) => name !== 'constructor');
    expect(names(FakeNoticeQueue)).toEqual(expect.arrayContaining(names(NoticeQueue)));
  });

  it('keeps what was sent, with checked options', async () => {
    const notices = new FakeNoticeQueue();
    const expiresAt = new Date(Date.now() + 60_000);
    const receipt = await notices.send(NOTICE, { ...KEY, expiresAt });
    await notices.sendMany([NOTICE, NOTICE], { priority: 2 });
    expect(receipt).toEqual({ id: notices.sent[0]?.id, contacts: 1, duplicate: false });
    expect(notices.sent).toMatchObject([
      {
        notice: { ...NOTICE, scheduleType: 'DIRECTLY' },
        options: { ...KEY, expiresAt: expiresAt.getTime() },
      },
      { options: { priority: 2 } },
      { options: { priority: 2 } },
    ]);
  });

  it.each([
    ['a notice', () => new FakeNoticeQueue().send({ ...NOTICE, contacts: [] })],
    ['options', () => new FakeNoticeQueue().send(NOTICE, { delay: -1 })],
    ['one of many', () => new FakeNoticeQueue().sendMany([NOTICE, { ...NOTICE, contacts: [] }])],
    ['a reference', () => new FakeNoticeQueue().get('')],
  ])('refuses what the real one refuses: %s', async (_, call) => {
    await expect(call()).rejects.toMatchObject({ code: 'NOTICE_INVALID' });
  });

  it('queues none of many where one is refused, and names it', async () => {
    const notices = new FakeNoticeQueue();
    await notices.send(NOTICE, { idempotencyKey: 'k/1' });
    const other = { ...NOTICE, templateCode: 'OTHER' };
    await expect(notices.sendMany([NOTICE, other], { idempotencyKey: 'k' })).rejects.toMatchObject({
      code: 'IDEMPOTENCY_CONFLICT',
      message: expect.stringContaining('notices[1]') as string,
    });
    const late = (_: unknown, index: number) => ({
      idempotencyKey: `late-${index}`,
      ...(index === 1 ? { expiresAt: Date.now() - 1 } : {}),
    });
    await expect(notices.sendMany([NOTICE, NOTICE], late)).rejects.toMatchObject({
      issues: [{ field: 'notices[1] options.expiresAt' }],
    });
    expect(notices.sent).toHaveLength(1);
    expect((await notices.send(NOTICE, { idempotencyKey: 'late-0' })).duplicate).toBe(false);
  });

  it.each([
    ['a number', 5],
    ['promises', [Promise.resolve(NOTICE)]],
  ])('refuses %s in the place of notices', async (_, given) => {
    const list = given as unknown as Notice[];
    await expect(new FakeNoticeQueue().sendMany(list)).rejects.toMatchObject({
      code: 'NOTICE_INVALID',
    });
  });

  it('warns where the error handler of sendLater fails', async () => {
    const warned = once(process, 'warning');
    new FakeNoticeQueue().sendLater({ ...NOTICE, contacts: [] }, () => {
      throw new Error('in the handler');
    });
    expect(await warned).toMatchObject([{ name: 'NoticeQueueWarning' }]);
  });

  it('tells of a notice what the real one tells before it is sent', async () => {
    const notices = new FakeNoticeQueue();
    const expiresAt = Date.now() + 120_000;
    const { id } = await notices.send(NOTICE, { delay: 60_000, expiresAt });
    const view = await notices.get(id);
    const { enqueuedAt = 0 } = view;
    expect(view).toEqual({
      id,
      state: 'pending',
      pending: { reason: 'delayed', until: enqueuedAt + 60_000 },
      template: 'SHIPPED',
      contacts: 1,
      delivery: 'at-least-once',
      attempts: 0,
      possiblySent: 0,
      enqueuedAt,
      expiresAt,
    });
    expect(await notices.get((await notices.send(NOTICE)).id)).toMatchObject({
      pending: { reason: 'waiting' },
    });
  });

  it('knows its idempotency keys', async () => {
    const notices: Notices = new FakeNoticeQueue();
    const first = await notices.send(NOTICE, KEY);
    expect(await notices.send(NOTICE, KEY)).toEqual({ ...first, duplicate: true });
    const other = { ...NOTICE, templateCode: 'OTHER' };
    await expect(notices.send(other, KEY)).rejects.toMatchObject({ code: 'IDEMPOTENCY_CONFLICT' });
    expect(await notices.get(KEY)).toMatchObject({ id: first.id, state: 'pending' });
  });

  it('cancels what waits, and releases its key', async () => {
    const notices = new FakeNoticeQueue();
    const { id } = await notices.send(NOTICE, KEY);
    const answer = await notices.cancel(KEY, { releaseKey: true });
    expect(answer).toEqual({ id, cancelled: true, answer: 'cancelled', keyReleased: true });
    expect((await notices.send(NOTICE, KEY)).duplicate).toBe(false);
    notices.setState(id, 'accepted');
    expect(await notices.cancel(id)).toMatchObject({ cancelled: false, answer: 'accepted' });
  });

  it('fails once when told to, also in sendLater', async () => {
    const notices = new FakeNoticeQueue();
    notices.failNext('QUEUE_UNAVAILABLE');
    const error = await new Promise((resolve) => {
      notices.sendLater(NOTICE, resolve);
    });
    expect(error).toMatchObject({ code: 'QUEUE_UNAVAILABLE' });
    await notices.send(NOTICE);
    expect(notices.sent).toHaveLength(1);
  });

  it('checks the rows of an import', async () => {
    const notices = new FakeNoticeQueue();
    const rows = [{ contact: '01012345678' }, { contact: 'none' }];
    const report = await notices.import(rows, { templateCode: 'SALE' });
    expect(report).toMatchObject({ contacts: 1, refused: 1, dryRun: false });
    expect(notices.imports).toEqual([{ options: { templateCode: 'SALE' }, report }]);
  });

  it('refuses a list whose numbers are implausible', async () => {
    const rows = [{ contact: '1234' }];
    const call = new FakeNoticeQueue().import(rows, { templateCode: 'SALE' });
    await expect(call).rejects.toMatchObject({ code: 'SOURCE_INVALID' });
  });

  it('refuses options of events, which end with their signal', async () => {
    const notices = new FakeNoticeQueue();
    const from = 5 as unknown as string;
    expect(() => notices.events({ from })).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }),
    );
    const end = new AbortController();
    const next = notices.events({ signal: end.signal }).next();
    end.abort();
    expect(await next).toEqual({ done: true, value: undefined });
  });

  it('refuses calls after its end, which ends the events', async () => {
    const notices = new FakeNoticeQueue();
    const next = notices.events().next();
    await notices.close();
    expect(await next).toEqual({ done: true, value: undefined });
    expect(() => notices.events()).toThrow(expect.objectContaining({ code: 'QUEUE_CLOSED' }));
    await expect(notices.send(NOTICE)).rejects.toMatchObject({ code: 'QUEUE_CLOSED' });
  });
});

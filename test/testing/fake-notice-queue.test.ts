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

  it('refuses calls after its end, which ends the events', async () => {
    const notices = new FakeNoticeQueue();
    const next = notices.events().next();
    await notices.close();
    expect(await next).toEqual({ done: true, value: undefined });
    await expect(notices.send(NOTICE)).rejects.toMatchObject({ code: 'QUEUE_CLOSED' });
  });
});

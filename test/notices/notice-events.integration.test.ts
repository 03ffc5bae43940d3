import { expect, describe, it, onTestFinished } from 'vitest';
import type { EmulatorOptions } from '../../src/emulator/options.ts';
import type { NoticeEvent, NoticeQueue } from '../../src/index.ts';
import { announceAccepted } from '../../src/events/announce.ts';
import { decideOn } from '../support/unknown-notices.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';
import { noticeWorld } from './support/notice-world.ts';

const redis = testRedis();
const WAIT = { deadlineMs: 20_000 };

const notice = (contact = '01000000001') => ({ templateCode: 'ORDER', contacts: [{ contact }] });

/** A queue, and a worker that keeps events. */
function world(env: Record<string, string> = {}, emulated: EmulatorOptions = {}) {
  const opened = noticeWorld(redis);
  return {
    ...opened,
    start: () => opened.worker({ NOTICE_EVENTS: '1000', ...env }, emulated),
  };
}

/** Collects events; they arrive while the test goes on. */
function listen(queue: NoticeQueue) {
  const events: (NoticeEvent & { readonly arrivedAt: number })[] = [];
  const stop = new AbortController();
  const { signal } = stop;
  const all = (async () => {
    for await (const event of queue.events({ from: '0', signal }))
      if ('notice' in event) events.push({ ...event, arrivedAt: Date.now() });
  })();
  onTestFinished(() => {
    stop.abort();
    return all;
  });
  const reach = (count: number) =>
    until(() => events.length >= count, { what: `${count} events`, ...WAIT });
  return { events, reach };
}

const brief = ({ event, notice: id, state, code }: NoticeEvent) => [event, id, state, code];

describe('events()', () => {
  it('has each end: accepted, rejected, expired, cancelled, unknown; with its code, and within a second', async () => {
    const { queue, keys, start } = world(
      { UNKNOWN_RESENDS: '0' },
      {
        rejectContacts: ['01000000002'],
        faults: [{ on: 'send', containing: '01000000005', reset: 'after-acting' }],
      },
    );
    const expiresAt = Date.now() + 1_000;
    const late = await queue.send(notice('01000000003'), { expiresAt });
    const off = await queue.send(notice('01000000004'), { delay: 3_600_000 });
    await until(() => Date.now() > expiresAt, { what: 'the deadline' });
    await start();
    const { events, reach } = listen(queue);
    await reach(1);
    const good = await queue.send(notice());
    await reach(2);
    const bad = await queue.send(notice('01000000002'));
    await reach(3);
    expect(await queue.cancel(off.id)).toMatchObject({ cancelled: true });
    await reach(4);
    const most = { delivery: 'at-most-once' } as const;
    const once = await queue.send(notice('01000000005'), most);
    await reach(5);
    const more = await queue.send(notice('01000000005'));
    await reach(6);
    expect(events.map(brief)).toEqual([
      ['notice.ended', late.id, 'expired', 'EXPIRED'],
      ['notice.ended', good.id, 'accepted', undefined],
      ['notice.ended', bad.id, 'rejected', expect.any(String)],
      ['notice.ended', off.id, 'cancelled', undefined],
      ['notice.ended', once.id, 'unknown', 'ECONNRESET'],
      ['notice.ended', more.id, 'unknown', 'ECONNRESET'],
    ]);
    // The first two wait for the start of the worker; the clock of Redis is this machine's.
    for (const { at, arrivedAt } of events) expect(arrivedAt - at).toBeLessThan(1_000);
    // A look-up answers the same state.
    for (const { notice: id, state } of events) expect((await queue.get(id)).state).toBe(state);
    const stored = JSON.stringify(await redis.client.xrange(keys.events, '-', '+'));
    expect(stored).not.toMatch(/0100000000\d/);
  });

  it('has what an operator does: redriven in its place, and the end by a decision', async () => {
    const { queue, keys, start } = world(
      { UNKNOWN_RESENDS: '0' },
      {
        faults: [
          { on: 'send', times: 1, status: 404, code: 'TEMPLATE_NOT_FOUND' },
          { on: 'send', containing: '01000000005', reset: 'after-acting' },
        ],
      },
    );
    await start();
    const { events, reach } = listen(queue);
    const failed = await queue.send(notice());
    await reach(1);
    const selection = { state: 'rejected', ids: [failed.id] } as const;
    const source = { redis: redis.client, keys };
    await decideOn(source, selection, { as: 'resend' });
    await reach(3);
    const lost = await queue.send(notice('01000000005'));
    await reach(4);
    await decideOn(source, { state: 'unknown', ids: [lost.id] }, { as: 'accepted' });
    await reach(5);
    expect(events.map(brief)).toEqual([
      ['notice.ended', failed.id, 'rejected', 'TEMPLATE_NOT_FOUND'],
      ['notice.redriven', failed.id, 'pending', undefined],
      ['notice.ended', failed.id, 'accepted', undefined],
      ['notice.ended', lost.id, 'unknown', 'ECONNRESET'],
      ['notice.ended', lost.id, 'accepted', undefined],
    ]);
  });

  it('has none of a worker that has lost the job', async () => {
    const { keys } = world();
    const append = (token?: string) => announceAccepted(redis.client, keys, 'n', 10, token);
    expect(await append('ours')).toBe(false);
    await redis.client.set(keys.noticeLock('n'), 'theirs');
    expect(await append('ours')).toBe(false);
    expect(await append('theirs')).toBe(true);
    expect(await append()).toBe(true);
    expect(await redis.client.xlen(keys.events)).toBe(2);
  });

  it('is bounded, and costs nothing where it is off: also a cancellation writes nothing', async () => {
    const { queue, keys, start, worker, reaching } = world({ NOTICE_EVENTS: '0' });
    await start();
    const off = await queue.send(notice(), { delay: 3_600_000 });
    await queue.cancel(off.id);
    const { id } = await queue.send(notice());
    await reaching(id, 'accepted');
    expect(await redis.client.exists(keys.events)).toBe(0);

    await worker({ NOTICE_EVENTS: '10' });
    expect(await redis.client.hget(keys.account, 'events')).toBe('10');
  });
});

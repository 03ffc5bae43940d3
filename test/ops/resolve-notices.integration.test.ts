import { describe, expect, it } from 'vitest';
import { changeEnded } from '../../src/notices/end-scripts.ts';
import { readEnded } from '../../src/notices/ended.ts';
import { settleAgain } from '../../src/notices/send-again.ts';
import { readAudit } from '../../src/ops/audit.ts';
import {
  RESOLUTIONS,
  resolveNotices,
  type UnknownResolution,
} from '../../src/ops/resolve-unknown.ts';
import { listUnknownNotices } from '../../src/ops/unknown.ts';
import { testRedis } from '../support/redis.ts';
import { until } from '../support/wait.ts';
import { endWaiting } from './support/failed-notices.ts';
import { parkNotice, type ParkedNotice } from './support/parked-notice.ts';

const redis = testRedis();

const decided = (as: UnknownResolution) => ({
  as,
  who: 'kim@desk',
  why: 'asked the service',
});
/** Decides about the notice as it was listed first. */
const resolve = ({ keys, listed }: ParkedNotice, as: UnknownResolution, signal?: AbortSignal) =>
  resolveNotices(redis.client, keys, [listed], decided(as), signal);
const listed = ({ keys }: ParkedNotice) => listUnknownNotices({ redis: redis.client, keys });
const audited = ({ keys }: ParkedNotice) => readAudit(redis.client, keys, 100);

/** The notice, which waits, is sent, and its answer is lost. */
const becomeUnknown = ({ keys, id, listed: { at } }: ParkedNotice) =>
  endWaiting(redis.client, keys, id, {
    state: 'unknown',
    code: 'TIMEOUT',
    possiblySent: 2,
    at: at + 1,
  });

const DONE = { resolved: 1, contacts: 1, gone: 0, late: 0, stopped: false };
const GONE = { ...DONE, resolved: 0, contacts: 0, gone: 1 };

describe('a notice whose outcome is unknown, resolved', () => {
  it.each(['accepted', 'discard'] as const)(
    'as %s: its contacts go, once; what was decided is kept, who and why',
    async (as) => {
      const parked = await parkNotice(redis);
      expect(await listed(parked)).toMatchObject([{ id: parked.id, stage: 'sent', contacts: 1 }]);
      expect(await resolve(parked, as)).toEqual(DONE);
      expect(await listed(parked)).toEqual([]);
      expect(await parked.queue.get(parked.id)).toMatchObject({
        state: as === 'accepted' ? 'accepted' : 'cancelled',
        template: 'ONCE',
        contacts: 1,
        possiblySent: 1,
      });
      const kept = await redis.client.hget(parked.keys.ended, parked.id);
      expect(kept).not.toContain('01000000001');

      expect(await resolve(parked, as)).toEqual(GONE);
      expect(await audited(parked)).toEqual([
        {
          at: expect.any(Number) as unknown,
          ...decided(as),
          what: 'resolve',
          target: parked.id,
          contacts: 1,
        },
      ]);
    },
  );

  it.each(['accepted', 'discard'] as const)(
    'as %s: its idempotency key stays, so that a repeated call queues nothing',
    async (as) => {
      const options = {
        idempotencyKey: 'order-1',
        delivery: 'at-most-once',
      } as const;
      const parked = await parkNotice(redis, options);
      await resolve(parked, as);
      const again = await parked.queue.send(parked.notice, options);
      expect(again).toMatchObject({ id: parked.id, duplicate: true });
      expect(await parked.board.getWaitingCount()).toBe(0);
    },
  );

  it('as resend: it waits again with all its attempts, and may be begun once', async () => {
    const parked = await parkNotice(redis);
    expect(await resolve(parked, 'resend')).toEqual(DONE);
    expect(await listed(parked)).toEqual([]);
    const job = await parked.board.getJob(parked.id);
    expect([await job?.getState(), job?.attemptsMade]).toEqual(['waiting', 0]);
    expect(await parked.queue.get(parked.id)).toMatchObject({ possiblySent: 1 });
    await redis.client.set(parked.keys.noticeLock(parked.id), 'token');
    const attempt = { job: parked.id, nonce: 'second' };
    expect(await parked.intents.begin(attempt, 'token', 'worker')).toBe('send');
  });

  it('as resend once its deadline has passed: left as it is, for it would expire', async () => {
    const deadline = Date.now() + 700;
    const parked = await parkNotice(redis, { expiresAt: deadline });
    await until(() => Date.now() > deadline, { what: 'the deadline' });
    expect(await resolve(parked, 'resend')).toEqual({
      ...GONE,
      gone: 0,
      late: 1,
    });
    expect(await listed(parked)).toHaveLength(1);
    expect(await audited(parked)).toEqual([]);
    expect(await resolve(parked, 'discard')).toEqual(DONE);
  });

  it.each(RESOLUTIONS)(
    'as %s by several people at once: one decision holds, the others are answered that it is gone',
    async (as) => {
      const parked = await parkNotice(redis);
      const reports = await Promise.all(
        Array.from({ length: 4 }, () =>
          resolveNotices(redis.connect(), parked.keys, [parked.listed], decided(as)),
        ),
      );
      expect(reports.reduce((sum, { resolved }) => sum + resolved, 0)).toBe(1);
      expect(reports.reduce((sum, { gone }) => sum + gone, 0)).toBe(3);
      expect(await parked.board.getWaitingCount()).toBe(as === 'resend' ? 1 : 0);
      expect(await audited(parked)).toHaveLength(1);
    },
  );

  it.each(RESOLUTIONS)(
    'as %s after another one has put it back into the queue: it waits, and one decision is recorded',
    async (as) => {
      const parked = await parkNotice(redis);
      expect(await resolve(parked, 'resend')).toEqual(DONE);
      expect(await resolve(parked, as)).toEqual(GONE);
      expect(await parked.board.getWaitingCount()).toBe(1);
      expect(await audited(parked)).toMatchObject([{ as: 'resend' }]);
    },
  );

  it.each(RESOLUTIONS)(
    'as %s, where it is unknown again since it was shown: it stays listed, and is not sent',
    async (as) => {
      const parked = await parkNotice(redis);
      const { id, board } = parked;
      await resolve(parked, 'resend');
      await becomeUnknown(parked);
      expect(await listed(parked)).toMatchObject([{ id, code: 'TIMEOUT' }]);
      expect(await resolve(parked, as)).toEqual(GONE);
      expect(await listed(parked)).toMatchObject([{ id, code: 'TIMEOUT' }]);
      expect(await board.getWaitingCount()).toBe(0);
      expect(await audited(parked)).toMatchObject([{ as: 'resend' }]);
    },
  );

  it('as resend by a process that dies before its job is added: it is listed again after a while', async () => {
    const parked = await parkNotice(redis);
    const { keys, id, board } = parked;
    const [entry] = await readEnded(redis.client, keys, [id]);
    if (entry === undefined) throw new Error('it has no entry');
    await changeEnded(redis.client, keys, entry, { text: entry.text, to: 'again' });
    expect(await listed(parked)).toEqual([]);
    expect(await resolve(parked, 'resend')).toEqual(GONE);
    await settleAgain(redis.client, keys);
    expect(await listed(parked)).toEqual([]);
    await settleAgain(redis.client, keys, 0);
    expect(await listed(parked)).toEqual([parked.listed]);
    // After its job is added, it is sent.
    await changeEnded(redis.client, keys, entry, { text: entry.text, to: 'again' });
    await board.add('send', {}, { jobId: id });
    await settleAgain(redis.client, keys, 0);
    expect(await listed(parked)).toEqual([]);
    expect(await redis.client.exists(keys.ended)).toBe(0);
  });
});

it('an answer that came after another run has ended the notice is shown before a decision', async () => {
  const parked = await parkNotice(redis);
  const { keys, id, intents } = parked;
  await intents.end({ job: id, nonce: 'another' }, 'accepted');
  expect(await listed(parked)).toEqual([parked.listed]);
  await intents.end({ job: id, nonce: 'first' }, 'accepted');
  expect(await listed(parked)).toEqual([{ ...parked.listed, stage: 'accepted' }]);
  expect(await readEnded(redis.client, keys, [id])).toHaveLength(1);
});

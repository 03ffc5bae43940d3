import { describe, expect, it } from 'vitest';
import { NoticeAdmin } from '../../src/admin/index.ts';
import type { SendOptions } from '../../src/index.ts';
import { changeEnded } from '../../src/notices/end-scripts.ts';
import { readEnded, type EndedEntry } from '../../src/notices/ended.ts';
import { settleAgain } from '../../src/notices/send-again.ts';
import { readPossiblySentTwice } from '../../src/fleet/possibly-sent-twice.ts';
import { readAudit } from '../../src/ops/audit.ts';
import { deleteEnded } from '../../src/ops/chores/delete-ended.ts';
import { DECISIONS, type Decision } from '../../src/ops/decide.ts';
import { QUEUE_NAME } from '../../src/redis/keys.ts';
import { holdNextScript } from '../support/held-script.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';
import { decideOn, unknownNotices, WHO } from '../support/unknown-notices.ts';
import { until } from '../support/wait.ts';
import { endAs, endWaiting, failNotices } from './support/failed-notices.ts';
import { parkNotice, type ParkedNotice } from './support/parked-notice.ts';
import { bullQueue } from '../support/bull-queue.ts';

const redis = testRedis();
const NOTICE = { templateCode: 'T', contacts: [{ contact: '01000000001' }] };
const RESEND = { as: 'resend' } as const;
const DISCARD = { as: 'discard' } as const;

function open() {
  const { prefix, keys, queue } = redis.account();
  const board = bullQueue(QUEUE_NAME, redis.client, keys);
  /** A notice that has failed: rejected, if its entry says nothing else. */
  const failed = async (entry: Partial<EndedEntry>, options?: SendOptions) => {
    const { id } = await queue.send(NOTICE, options);
    await endWaiting(redis.client, keys, id, entry);
    return id;
  };
  const decide = (
    id: string,
    decision: Pick<Decision, 'as'> = RESEND,
    state: 'rejected' | 'unknown' = 'rejected',
    client = redis.client,
  ) => decideOn({ redis: client, keys }, { state, ids: [id] }, decision);
  const waiting = () => redis.client.lrange(keys.noticesIn('wait'), 0, -1);
  return { prefix, keys, queue, board, failed, decide, waiting };
}

/** A decision to send one notice again whose entry is marked, and whose process sleeps since. */
async function asleep(
  { keys, failed, decide }: ReturnType<typeof open>,
  id: string,
  state: 'rejected' | 'unknown',
) {
  // Otherwise the reply that is kept back is that Redis does not know the script yet.
  const other = await failed({});
  await decide(other);
  await redis.client.lrem(keys.noticesIn('wait'), 1, other);
  const client = redis.connect({ name: 'asleep' });
  const settled = holdNextScript(client);
  const ended = decide(id, RESEND, state, client).catch(() => 'dead');
  await settled.answered;
  const step = holdNextScript(client);
  settled.letGo();
  await step.answered;
  return { client, step, ended };
}

const UNKNOWN = { state: 'unknown' as const, possiblySent: 1, traceIds: ['trace-1'] };

describe('a notice that is sent again', () => {
  it('what it met before says nothing about its next run', async () => {
    const { keys, failed, decide } = open();
    const id = await failed({});
    await decide(id);
    expect(await redis.client.hgetall(keys.noticeJob(id))).not.toHaveProperty('ats');
    expect(await redis.client.exists(keys.history, keys.ended)).toBe(0);
  });

  it('what was possibly sent stays known, and is counted as possibly sent twice', async () => {
    const { keys, queue, failed, decide } = open();
    const id = await failed(UNKNOWN);
    await decide(id, RESEND, 'unknown');
    const { possiblySent, traceIds } = UNKNOWN;
    expect(await queue.get(id)).toMatchObject({ state: 'pending', possiblySent, traceIds });
    expect(await readPossiblySentTwice(redis.client, keys)).toMatchObject({ notices: 1 });
    expect(await queue.cancel(id)).toMatchObject({ answer: 'possibly-sent' });
  });

  it('its idempotency key stays in use, and is known when it ends again', async () => {
    const { queue, failed, decide } = open();
    const key = { idempotencyKey: 'order-1' };
    const id = await failed({}, key);
    await decide(id);
    expect(await queue.send(NOTICE, key)).toMatchObject({ id, duplicate: true });
    expect(await queue.cancel(id, { releaseKey: true })).toMatchObject({ keyReleased: true });
    expect(await queue.send(NOTICE, key)).toMatchObject({ duplicate: false });
  });

  it('by a process that dies in between is not rejected where it was possibly sent', async () => {
    const setup = open();
    const { keys, queue, failed, decide, waiting } = setup;
    const id = await failed(UNKNOWN);
    const { client, step, ended } = await asleep(setup, id, 'unknown');
    client.disconnect();
    step.letGo();
    await ended;
    expect(await queue.get(id)).toMatchObject({ state: 'unknown', possiblySent: 1 });
    await settleAgain(redis.client, keys, 0);
    await decide(id, RESEND, 'unknown');
    expect(await waiting()).toEqual([id]);
  });

  it('by a process that sleeps in between is not sent by another one, too', async () => {
    const setup = open();
    const { keys, queue, failed, decide, waiting } = setup;
    const id = await failed({});
    const { step, ended } = await asleep(setup, id, 'rejected');
    expect(await decide(id)).toMatchObject({ done: 0, gone: 1 });
    step.letGo();
    expect(await ended).toMatchObject({ done: 1 });
    expect(await waiting()).toEqual([id]);
    await endWaiting(redis.client, keys, id, { at: Date.now() + 1, ...UNKNOWN });
    expect(await decide(id)).toMatchObject({ done: 0, gone: 1 });
    expect(await queue.get(id)).toMatchObject({ state: 'unknown' });
  });

  it('is left while its job is not gone yet; its entry is kept as long', async () => {
    const { keys, board, failed, decide } = open();
    const id = await failed({});
    await board.add('send', {}, { jobId: id });
    expect(await decide(id)).toMatchObject({ done: 0, gone: 1 });
    expect(await decide(id, DISCARD)).toMatchObject({ done: 1 });
    const keep = { keepAcceptedMs: 0, keepFailedMs: 0 };
    await deleteEnded(redis.client, keys, keep, new AbortController().signal);
    expect(await redis.client.hkeys(keys.ended)).toEqual([id]);
  });

  it.each([{ priority: 0 }, { priority: 7 }])(
    'keeps its place among others, with priority $priority',
    async ({ priority }) => {
      const { board, failed, decide } = open();
      const id = await failed({}, { priority });
      await decide(id);
      const job = await board.getJob(id);
      expect([job?.priority, job?.attemptsMade, job?.data]).toMatchObject([
        priority,
        0,
        { v: 1, notice: NOTICE },
      ]);
    },
  );
});

describe('a decision on all that match', () => {
  it('a preview counts what a process that died was sending again, as the decision acts on it', async () => {
    const { prefix, keys, failed } = open();
    const id = await failed(UNKNOWN);
    const [entry] = await readEnded(redis.client, keys, [id]);
    if (entry === undefined) throw new Error('it has no entry');
    await changeEnded(redis.client, keys, entry, { text: entry.text, to: 'again' });
    await redis.client.zadd(keys.endedIn('again'), Date.now() - 60_000, id);
    const admin = new NoticeAdmin({
      redis: connectionAs('ops', redis.url),
      prefix,
      who: 'kim',
    });
    const { contacts } = await admin.run('failures', { state: 'unknown' });
    expect(contacts).toBe(1);
    const done = await admin.run('decide', { as: 'resend', state: 'unknown', single: true });
    expect(done.contacts).toBe(1);
  });

  it('leaves one that another sends again and that ends meanwhile', async () => {
    const prefix = redis.freshPrefix();
    const { ids, keys } = await failNotices(redis, prefix, { count: 501, state: 'unknown' });
    const last = ids.at(-1) ?? '';
    const client = redis.connect({ name: 'deciding' });
    const read = client.hmget.bind(client);
    client.hmget = (async (key: string, ...args: string[]) => {
      if (args.includes(last)) await endAs(redis.client, keys, last, { at: Date.now() + 1 });
      return read(key, ...args);
    }) as typeof client.hmget;
    const done = await decideOn(
      { redis: client, keys },
      { state: 'unknown', single: true },
      RESEND,
    );
    expect(done).toMatchObject({ done: 500 });
    expect(await redis.client.zrange(keys.endedIn('unknown'), '0', '-1')).toEqual([last]);
  });
});

describe('a rejected notice that is given up', () => {
  it.each([
    { meanwhile: 'sent again', state: 'pending' },
    { meanwhile: 'rejected once more', state: 'rejected' },
  ])('is left where it was $meanwhile since it was read', async ({ meanwhile, state }) => {
    const { keys, queue, failed, decide } = open();
    const id = await failed({});
    const client = redis.connect({ name: 'deciding' });
    // Otherwise the reply that is kept back is that Redis does not know the script yet.
    await changeEnded(redis.client, keys, { id: 'none', text: '', state: 'rejected' }, {});
    await settleAgain(redis.client, keys);
    const read = client.zmscore.bind(client);
    // After its entry was read.
    client.zmscore = (async (...args: Parameters<typeof read>) => {
      const reply = await read(...args);
      await decide(id);
      if (meanwhile !== 'sent again') {
        await endWaiting(redis.client, keys, id, { at: Date.now() + 1 });
      }
      return reply;
    }) as typeof client.zmscore;
    expect(await decide(id, DISCARD, 'rejected', client)).toMatchObject({ done: 0, gone: 1 });
    expect(await queue.get(id)).toMatchObject({ state });
  });
});

/** Decides about the notice as it was listed first. */
const settle = ({ keys, id, listed: { at } }: ParkedNotice, as: Decision['as']) =>
  decideOn({ redis: redis.client, keys }, { state: 'unknown', ids: [id], before: at + 1 }, { as });
const listed = ({ keys }: ParkedNotice) => unknownNotices({ redis: redis.client, keys });
const audited = ({ keys }: ParkedNotice) => readAudit(redis.client, keys, 100);

const DONE = { done: 1, contacts: 1, gone: 0, late: 0, complete: true, refused: [] };
const GONE = { ...DONE, done: 0, contacts: 0, gone: 1 };

describe('a notice whose outcome is unknown, decided', () => {
  it.each(['accepted', 'discard'] as const)(
    'as %s: its contacts go, once; what was decided is kept, who and why',
    async (as) => {
      const options = { idempotencyKey: 'order-1', delivery: 'at-most-once' } as const;
      const parked = await parkNotice(redis, options);
      expect(await listed(parked)).toMatchObject([{ id: parked.id, stage: 'sent', contacts: 1 }]);
      expect(await settle(parked, as)).toEqual(DONE);
      expect(await listed(parked)).toEqual([]);
      expect(await parked.queue.get(parked.id)).toMatchObject({
        state: as === 'accepted' ? 'accepted' : 'cancelled',
        template: 'ONCE',
        contacts: 1,
        possiblySent: 1,
      });
      const kept = await redis.client.hget(parked.keys.ended, parked.id);
      expect(kept).not.toContain('01000000001');

      expect(await settle(parked, as)).toEqual(GONE);
      const at = expect.any(Number) as unknown;
      const entry = { ...WHO, what: 'decide', target: parked.id, contacts: 1 };
      expect(await audited(parked)).toEqual([{ at, ...entry, as: `${as} unknown` }]);
      const again = await parked.queue.send(parked.notice, options);
      expect(again).toMatchObject({ id: parked.id, duplicate: true });
      expect(await parked.board.getWaitingCount()).toBe(0);
    },
  );

  it('as resend: it waits again with all its attempts, and its intent may be taken once', async () => {
    const parked = await parkNotice(redis);
    expect(await settle(parked, 'resend')).toEqual(DONE);
    expect(await listed(parked)).toEqual([]);
    const job = await parked.board.getJob(parked.id);
    expect([await job?.getState(), job?.attemptsMade]).toEqual(['waiting', 0]);
    expect(await parked.queue.get(parked.id)).toMatchObject({ possiblySent: 1 });
    await redis.client.set(parked.keys.noticeLock(parked.id), 'token');
    const attempt = { job: parked.id, nonce: 'second' };
    expect(await parked.intents.beginIntent(attempt, 'token', 'worker')).toBe('send');
  });

  it('as resend once its deadline has passed: left as it is, for it would expire', async () => {
    const deadline = Date.now() + 700;
    const parked = await parkNotice(redis, { expiresAt: deadline });
    await until(() => Date.now() > deadline, { what: 'the deadline' });
    expect(await settle(parked, 'resend')).toEqual({ ...GONE, gone: 0, late: 1 });
    expect(await listed(parked)).toHaveLength(1);
    expect(await audited(parked)).toEqual([]);
    expect(await settle(parked, 'discard')).toEqual(DONE);
  });

  it.each(DECISIONS)(
    'as %s by several people at once: one decision holds, the others are answered that it is gone',
    async (as) => {
      const parked = await parkNotice(redis);
      const select = { state: 'unknown', ids: [parked.id] } as const;
      const reports = await Promise.all(
        Array.from({ length: 4 }, () =>
          decideOn({ redis: redis.connect(), keys: parked.keys }, select, { as }),
        ),
      );
      expect(reports.reduce((sum, { done }) => sum + done, 0)).toBe(1);
      expect(reports.reduce((sum, { gone }) => sum + gone, 0)).toBe(3);
      expect(await parked.board.getWaitingCount()).toBe(as === 'resend' ? 1 : 0);
      expect(await audited(parked)).toHaveLength(1);
    },
  );

  it.each(DECISIONS)(
    'as %s after another one has sent it again, also where it is unknown again: it is left',
    async (as) => {
      const parked = await parkNotice(redis);
      const { keys, id, board } = parked;
      expect(await settle(parked, 'resend')).toEqual(DONE);
      expect(await settle(parked, as)).toEqual(GONE);
      expect(await board.getWaitingCount()).toBe(1);
      const at = parked.listed.at + 1;
      await endWaiting(redis.client, keys, id, { ...UNKNOWN, code: 'TIMEOUT', at });
      expect(await settle(parked, as)).toEqual(GONE);
      expect(await listed(parked)).toMatchObject([{ id, code: 'TIMEOUT' }]);
      expect(await board.getWaitingCount()).toBe(0);
      expect(await audited(parked)).toMatchObject([{ as: 'resend unknown' }]);
    },
  );

  it('as resend by a process that dies before its job is added: it is listed again after a while', async () => {
    const parked = await parkNotice(redis);
    const { keys, id, board } = parked;
    const [entry] = await readEnded(redis.client, keys, [id]);
    if (entry === undefined) throw new Error('it has no entry');
    await changeEnded(redis.client, keys, entry, { text: entry.text, to: 'again' });
    expect(await listed(parked)).toEqual([]);
    expect(await settle(parked, 'resend')).toEqual(GONE);
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
  await intents.endIntent({ job: id, nonce: 'another' }, 'accepted');
  expect(await listed(parked)).toEqual([parked.listed]);
  await intents.endIntent({ job: id, nonce: 'first' }, 'accepted');
  expect(await listed(parked)).toEqual([{ ...parked.listed, stage: 'accepted' }]);
  expect(await readEnded(redis.client, keys, [id])).toHaveLength(1);
});

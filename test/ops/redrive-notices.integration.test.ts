import { Queue } from 'bullmq';
import { expect, it, onTestFinished } from 'vitest';
import { NoticeQueue, type SendOptions } from '../../src/index.ts';
import type { EndedEntry } from '../../src/notices/ended.ts';
import { settleAgain } from '../../src/notices/send-again.ts';
import { deleteEnded } from '../../src/ops/chores/delete-ended.ts';
import { deleteNotices, redriveNotices } from '../../src/ops/notice-actions.ts';
import { readPossiblySentTwice } from '../../src/fleet/possibly-sent-twice.ts';
import { keysOf, QUEUE_NAME } from '../../src/redis/keys.ts';
import { holdNextScript } from '../support/held-script.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';
import { endWaiting } from './support/failed-notices.ts';

const redis = testRedis();
const WHO = { who: 'kim@desk', why: 'template approved' };
const NOTICE = { templateCode: 'T', contacts: [{ contact: '01000000001' }] };

function open() {
  const prefix = redis.freshPrefix();
  const keys = keysOf(prefix, 'default');
  const queue = new NoticeQueue({ redis: connectionAs('producer', redis.url), prefix });
  const board = new Queue(QUEUE_NAME, { connection: redis.client, prefix: keys.bullPrefix });
  onTestFinished(async () => {
    await queue.close();
    await board.close();
  });
  /** A notice that has failed: rejected, if its entry says nothing else. */
  const failed = async (entry: Partial<EndedEntry>, options?: SendOptions) => {
    const { id } = await queue.send(NOTICE, options);
    await endWaiting(redis.client, keys, id, entry);
    return id;
  };
  return { keys, queue, board, failed };
}

/** A redrive of one notice whose entry is marked, and whose process sleeps since. */
async function asleep(
  { keys, failed }: ReturnType<typeof open>,
  id: string,
  state: 'rejected' | 'unknown',
) {
  // Otherwise the reply that is kept back is that Redis does not know the script yet.
  const other = await failed({});
  await redriveNotices({ redis: redis.client, keys }, { state: 'rejected', ids: [other] }, WHO);
  await redis.client.lrem(keys.noticesIn('wait'), 1, other);
  const client = redis.connect({ name: 'asleep' });
  const settled = holdNextScript(client);
  const redrive = redriveNotices({ redis: client, keys }, { state, ids: [id] }, WHO);
  const ended = redrive.catch(() => 'dead');
  await settled.answered;
  const step = holdNextScript(client);
  settled.letGo();
  await step.answered;
  return { client, step, ended };
}

const UNKNOWN = { state: 'unknown' as const, possiblySent: 1, traceIds: ['trace-1'] };

it('what it met before says nothing about its next run', async () => {
  const { keys, failed } = open();
  const id = await failed({});
  await redriveNotices({ redis: redis.client, keys }, { state: 'rejected', ids: [id] }, WHO);
  expect(await redis.client.hgetall(keys.noticeJob(id))).not.toHaveProperty('ats');
  expect(await redis.client.exists(keys.history, keys.ended)).toBe(0);
});

it('what was possibly sent stays known, and is counted as possibly sent twice', async () => {
  const { keys, queue, failed } = open();
  const id = await failed(UNKNOWN);
  await redriveNotices({ redis: redis.client, keys }, { state: 'unknown', ids: [id] }, WHO);
  const { possiblySent, traceIds } = UNKNOWN;
  expect(await queue.get(id)).toMatchObject({ state: 'pending', possiblySent, traceIds });
  expect(await readPossiblySentTwice(redis.client, keys)).toMatchObject({ notices: 1 });
  expect(await queue.cancel(id)).toMatchObject({ answer: 'possibly-sent' });
});

it('its idempotency key stays in use, and is known when it ends again', async () => {
  const { keys, queue, failed } = open();
  const key = { idempotencyKey: 'order-1' };
  const id = await failed({}, key);
  await redriveNotices({ redis: redis.client, keys }, { state: 'rejected', ids: [id] }, WHO);
  expect(await queue.send(NOTICE, key)).toMatchObject({ id, duplicate: true });
  expect(await queue.cancel(id, { releaseKey: true })).toMatchObject({ keyReleased: true });
  expect(await queue.send(NOTICE, key)).toMatchObject({ duplicate: false });
});

it('a process that dies in between leaves no notice that was possibly sent as rejected', async () => {
  const setup = open();
  const { keys, queue, failed } = setup;
  const id = await failed(UNKNOWN);
  const { client, step, ended } = await asleep(setup, id, 'unknown');
  client.disconnect();
  step.letGo();
  await ended;
  expect(await queue.get(id)).toMatchObject({ state: 'unknown', possiblySent: 1 });
  await settleAgain(redis.client, keys, 0);
  await redriveNotices({ redis: redis.client, keys }, { state: 'unknown', ids: [id] }, WHO);
  expect(await redis.client.lrange(keys.noticesIn('wait'), 0, -1)).toEqual([id]);
});

it('a process that sleeps in between sends nothing again that another one does', async () => {
  const setup = open();
  const { keys, queue, failed } = setup;
  const id = await failed({});
  const { step, ended } = await asleep(setup, id, 'rejected');
  const other = () =>
    redriveNotices({ redis: redis.client, keys }, { state: 'rejected', ids: [id] }, WHO);
  expect(await other()).toMatchObject({ done: 0, gone: 1 });
  step.letGo();
  expect(await ended).toMatchObject({ done: 1 });
  expect(await redis.client.lrange(keys.noticesIn('wait'), 0, -1)).toEqual([id]);
  await endWaiting(redis.client, keys, id, { at: Date.now() + 1, ...UNKNOWN });
  expect(await other()).toMatchObject({ done: 0, gone: 1 });
  expect(await queue.get(id)).toMatchObject({ state: 'unknown' });
});

it('a notice whose job is not gone yet is left', async () => {
  const { keys, board, failed } = open();
  const id = await failed({});
  await board.add('send', {}, { jobId: id });
  const redrive = redriveNotices({ redis: redis.client, keys }, { state: 'rejected' }, WHO);
  expect(await redrive).toMatchObject({ done: 0, gone: 1 });
  const removed = deleteNotices({ redis: redis.client, keys }, { state: 'rejected' }, WHO);
  expect(await removed).toMatchObject({ done: 0, gone: 1 });
  const keep = { keepAcceptedMs: 0, keepFailedMs: 0 };
  await deleteEnded(redis.client, keys, keep, new AbortController().signal);
  expect(await redis.client.hkeys(keys.ended)).toEqual([id]);
});

it.each([{ priority: 0 }, { priority: 7 }])(
  'keeps its place among others, with priority $priority',
  async ({ priority }) => {
    const { keys, board, failed } = open();
    const id = await failed({}, { priority });
    await redriveNotices({ redis: redis.client, keys }, { state: 'rejected', ids: [id] }, WHO);
    const job = await board.getJob(id);
    expect([job?.priority, job?.attemptsMade, job?.data]).toMatchObject([
      priority,
      0,
      { v: 1, notice: NOTICE },
    ]);
  },
);

import { Queue } from 'bullmq';
import { describe, expect, it, onTestFinished } from 'vitest';
import { NoticeQueue, type SendOptions } from '../../src/index.ts';
import { EARLIER_FIELD } from '../../src/notices/job-lua.ts';
import { redriveNotices } from '../../src/ops/notice-actions.ts';
import { readUnknown } from '../../src/ops/unknown.ts';
import { ERASED, replaceJobData } from '../../src/fleet/job-data.ts';
import { readPossiblySentTwice } from '../../src/fleet/possibly-sent-twice.ts';
import { keysOf, QUEUE_NAME } from '../../src/redis/keys.ts';
import { holdNextScript } from '../support/held-script.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';
import { endWaiting } from './support/failed-notices.ts';
import { parkNotice } from './support/parked-notice.ts';

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
  /** A notice that has failed. @param fields of its job, beside those of its end */
  const failed = async (
    fields: Readonly<Record<string, string | number>>,
    options?: SendOptions,
  ) => {
    const { id } = await queue.send(NOTICE, options);
    await endWaiting(redis.client, keys, id, fields);
    return id;
  };
  return { keys, queue, board, failed };
}

/** A redrive of one notice whose first step was done, and whose process sleeps since. */
async function asleep(setup: ReturnType<typeof open>, id: string, state: 'rejected' | 'unknown') {
  const { keys, failed } = setup;
  // Otherwise the reply that is kept back is that Redis does not know the script yet.
  const other = await failed({});
  await redriveNotices({ redis: redis.client, keys }, { state: 'rejected', ids: [other] }, WHO);
  await redis.client.lrem(keys.noticesIn('wait'), 1, other);
  const client = redis.connect({ name: 'asleep' });
  const selected = holdNextScript(client);
  const redrive = redriveNotices({ redis: client, keys }, { state, ids: [id] }, WHO);
  const ended = redrive.catch(() => 'dead');
  await selected.answered;
  selected.letGo();
  const step = holdNextScript(client);
  await step.answered;
  return { client, step, ended };
}

it('what it met before says nothing about its next run', async () => {
  const { keys, failed } = open();
  const id = await failed({});
  const history = JSON.stringify({ count: 2, contradicted: 1, at: 1 });
  await redis.client.hset(keys.history, { [`trouble:${id}`]: history, 'trouble:other': history });
  await redriveNotices({ redis: redis.client, keys }, { state: 'rejected', ids: [id] }, WHO);
  expect(await redis.client.hkeys(keys.history)).toEqual(['trouble:other']);
});

it('an erasure in its earlier run does not keep its next run from recording what is left', async () => {
  const { keys, failed } = open();
  const id = await failed({ ats: 1, [ERASED]: 1 });
  await redriveNotices({ redis: redis.client, keys }, { state: 'rejected', ids: [id] }, WHO);
  const job = keys.noticeJob(id);
  const { sentAgainAt } = JSON.parse((await redis.client.hget(job, 'progress')) ?? '') as {
    sentAgainAt: number;
  };
  await redis.client.hset(job, 'ats', 1);
  await redis.client.set(`${job}:lock`, 'ours');
  const run = { token: 'ours', started: 1, sentAgainAt };
  expect(await replaceJobData(redis.client, job, run, 'what is left')).toBe(true);
});

it('a process that dies in between leaves no notice that was possibly sent as rejected', async () => {
  const setup = open();
  const { keys, queue, failed } = setup;
  const id = await failed({ stc: 1 });
  expect(await queue.get(id)).toMatchObject({ state: 'unknown', possiblySent: 1 });
  const { client, step, ended } = await asleep(setup, id, 'unknown');
  client.disconnect();
  step.letGo();
  await ended;
  expect(await queue.get(id)).toMatchObject({
    state: 'pending',
    possiblySent: 1,
    earlier: [{ state: 'unknown', possiblySent: 1 }],
  });
  expect(await redis.client.lrange(keys.noticesIn('wait'), 0, -1)).toEqual([id]);
  expect(await readPossiblySentTwice(redis.client, keys)).toMatchObject({ notices: 1 });
});

it('a process that sleeps in between does not send again what has failed anew', async () => {
  const setup = open();
  const { keys, queue, failed } = setup;
  const id = await failed({});
  const { step, ended } = await asleep(setup, id, 'rejected');
  await redriveNotices({ redis: redis.client, keys }, { state: 'rejected', ids: [id] }, WHO);
  await endWaiting(redis.client, keys, id, { stc: 1, finishedOn: Date.now() + 1 });
  expect(await queue.get(id)).toMatchObject({ state: 'unknown' });
  step.letGo();
  await ended;
  expect(await queue.get(id)).toMatchObject({ state: 'unknown' });
  expect(await redis.client.lrange(keys.noticesIn('wait'), 0, -1)).toEqual([]);
});

it('a redrive of rejected ones does not send again what has become unknown since it was selected', async () => {
  const { keys, queue, failed } = open();
  const [first, id] = [await failed({}), await failed({})];
  // Otherwise the reply that is kept back is that Redis does not know the script yet.
  await redriveNotices({ redis: redis.client, keys }, { state: 'rejected', ids: [first] }, WHO);
  const slow = redis.connect();
  const selected = holdNextScript(slow);
  const redrive = redriveNotices({ redis: slow, keys }, { state: 'rejected', ids: [id] }, WHO);
  await selected.answered;
  await redriveNotices({ redis: redis.client, keys }, { state: 'rejected', ids: [id] }, WHO);
  await endWaiting(redis.client, keys, id, { finishedOn: Date.now() + 1 });
  const facts = { template: 'T', contacts: 1, code: 'TIMEOUT', stage: 'sent', possiblySent: 1 };
  const entry = { ...facts, delivery: 'at-least-once', at: Date.now() };
  await redis.client.hset(keys.intents.unknown, id, JSON.stringify(entry));
  selected.letGo();
  expect(await redrive).toMatchObject({ done: 0, gone: 1 });
  expect(await queue.get(id)).toMatchObject({ state: 'unknown' });
});

describe('a job that is put back', () => {
  it.each([{ priority: 0 }, { priority: 7 }])(
    'is as BullMQ puts it back, with priority $priority',
    async ({ priority }) => {
      const { keys, board, failed } = open();
      const fields = { ats: 2, processedOn: 1, stacktrace: '[]' };
      const ids = [await failed(fields, { priority }), await failed(fields, { priority })];
      const [own = '', theirs = ''] = ids;
      await redis.client.del(board.toKey('marker'));
      const selection = { state: 'rejected', ids: [own] } as const;
      await redriveNotices({ redis: redis.client, keys }, selection, WHO);
      expect(await redis.client.zrange(board.toKey('marker'), '0', '-1')).toEqual(['0']);
      const job = await board.getJob(theirs);
      await job?.retry('failed', { resetAttemptsMade: true, resetAttemptsStarted: true });
      const [ours, bulls] = await Promise.all(
        ids.map((id) => redis.client.hgetall(keys.noticeJob(id))),
      );
      const names = (stored = {}) => Object.keys(stored);
      expect(
        names(ours)
          .filter((name) => name !== EARLIER_FIELD && name !== 'progress')
          .sort(),
      ).toEqual(names(bulls).sort());
      const byPriority = await redis.client.zrange(keys.noticesIn('prioritized'), '0', '-1');
      const waiting = await redis.client.lrange(keys.noticesIn('wait'), 0, -1);
      expect([...byPriority, ...waiting.toReversed()]).toEqual([own, theirs]);
      expect(await board.getFailedCount()).toBe(0);
    },
  );
});

it('an at-most-once notice stays listed for as long as its job is kept, and is not sent again as rejected', async () => {
  const { prefix, keys, id, intents, listed } = await parkNotice(redis);
  // Its time in the list ends a moment before BullMQ removes the job.
  await redis.client.zadd(keys.intents.unknownAt, 1, id);
  await parkNotice(redis, {}, prefix, undefined, { number: '01000000002' });
  const context = { redis: redis.client, keys };
  expect(await redriveNotices(context, { state: 'rejected' }, WHO)).toMatchObject({ done: 0 });
  expect(await readUnknown(redis.client, keys, [id])).toEqual([listed]);
  await redis.client.del(keys.noticeJob(id));
  await redis.client.zrem(keys.failedNotices, id);
  const other = { job: 'other', nonce: '' };
  await intents.park([{ ...other, facts: listed }], 'none', 3_600_000);
  expect(await redis.client.hexists(keys.intents.unknown, id)).toBe(0);
});

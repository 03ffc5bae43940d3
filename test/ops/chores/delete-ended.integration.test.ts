import { expect, it, onTestFinished } from 'vitest';
import { startEmulator } from '../../../src/emulator/emulator.ts';
import { NoticeQueue } from '../../../src/index.ts';
import { deleteEnded } from '../../../src/ops/chores/delete-ended.ts';
import { keysOf, QUEUE_NAME } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import { startProcess } from '../../cli/support/process.ts';
import { testRedis } from '../../support/redis.ts';
import { connectionAs } from '../../support/redis-users.ts';
import { until } from '../../support/wait.ts';

const redis = testRedis();
const HOUR_MS = 3_600_000;
const notice = (contact: string) => ({ templateCode: 'T', contacts: [{ contact }] });

/** Makes an ended job older, as BullMQ stores its end. */
async function age(set: string, id: string, ms: number): Promise<void> {
  const ended = Number(await redis.client.zscore(set, id));
  await redis.client.zadd(set, ended - ms, id);
  const job = set.replace(/[^:]+$/, id);
  await redis.client.hset(job, 'finishedOn', ended - ms);
}

it('ended notices whose time is over are deleted in an idle queue, and no others', async () => {
  const emulator = await startEmulator({ rejectContacts: ['01000000003', '01000000004'] });
  onTestFinished(() => emulator.close());
  const prefix = redis.freshPrefix();
  const env = {
    REDIS_URL: redis.url,
    REDIS_PREFIX: prefix,
    BASE_URL: emulator.url,
    ACCESS_KEY: 'emulator-access-key',
    SECRET_KEY: 'emulator-secret-key',
  };
  await using queue = new NoticeQueue({ redis: connectionAs('producer', redis.url), prefix });
  const ids: string[] = [];
  for (const at of [1, 2, 3, 4]) ids.push((await queue.send(notice(`0100000000${at}`))).id);
  const states = async () => Promise.all(ids.map(async (id) => (await queue.get(id)).state));
  const first = startProcess(['worker'], env);
  const sent = ['accepted', 'accepted', 'rejected', 'rejected'];
  await until(async () => String(await states()) === String(sent), { what: 'the ends' });
  first.stop('SIGTERM');
  await first.ended;

  const keys = keysOf(prefix, 'default');
  const board = openBullQueue(QUEUE_NAME, redis.client, keys);
  onTestFinished(() => board.close());
  const [[done], [failed]] = [await board.getCompleted(), await board.getFailed()];
  expect([done?.id, failed?.id]).toEqual([expect.any(String), expect.any(String)]);
  await age(board.toKey('completed'), done?.id ?? '', HOUR_MS + 1_000);
  await age(board.toKey('failed'), failed?.id ?? '', 7 * 24 * HOUR_MS + 1_000);

  // As the next turn of a worker does.
  const config = { keepAcceptedMs: HOUR_MS, keepFailedMs: 7 * 24 * HOUR_MS };
  await deleteEnded(redis.client, keys, config, AbortSignal.abort());
  expect(await board.getJobCounts('completed', 'failed')).toMatchObject({
    completed: 2,
    failed: 2,
  });
  await redis.client.del(keys.chore('delete-ended'));
  const second = startProcess(['worker'], env);
  await second.says(/"event":"started"/);
  const counts = () => board.getJobCounts('completed', 'failed');
  await until(async () => String(Object.values(await counts())) === '1,1', {
    what: 'the deletion',
  });
  expect((await states()).filter((state) => state === 'not-kept')).toHaveLength(2);
  second.stop('SIGTERM');
  expect((await second.ended).code).toBe(0);
});

it('idempotency keys of notices that were deleted in an idle queue stay in use', async () => {
  const emulator = await startEmulator({ rejectContacts: ['01000000002', '01000000004'] });
  onTestFinished(() => emulator.close());
  const prefix = redis.freshPrefix();
  await using queue = new NoticeQueue({
    redis: connectionAs('producer', redis.url),
    prefix,
    chunkSize: 1,
  });
  const sends = [
    { key: 'accepted', sent: notice('01000000001') },
    { key: 'rejected', sent: notice('01000000002') },
    { key: 'cancelled', sent: notice('01000000003') },
    // Its first job is kept for longer than its second one.
    {
      key: 'of two jobs',
      sent: {
        templateCode: 'T',
        contacts: [{ contact: '01000000004' }, { contact: '01000000005' }],
      },
    },
  ];
  const ids: string[] = [];
  for (const { key, sent } of sends) {
    ids.push((await queue.send(sent, { idempotencyKey: key })).id);
  }
  await queue.cancel(ids[2] ?? '');
  const worker = startProcess(['worker'], {
    REDIS_URL: redis.url,
    REDIS_PREFIX: prefix,
    BASE_URL: emulator.url,
    ACCESS_KEY: 'emulator-access-key',
    SECRET_KEY: 'emulator-secret-key',
  });
  const states = async () => Promise.all(ids.map(async (id) => (await queue.get(id)).state));
  const ended = ['accepted', 'rejected', 'cancelled', 'rejected'];
  await until(async () => String(await states()) === String(ended), { what: 'the ends' });
  worker.stop('SIGTERM');
  await worker.ended;

  const keys = keysOf(prefix, 'default');
  const board = openBullQueue(QUEUE_NAME, redis.client, keys);
  onTestFinished(() => board.close());
  const counts = () => board.getJobCounts('completed', 'failed', 'waiting', 'delayed', 'active');
  const [first = '', second = '', third = '', both = ''] = ids;
  const old: readonly (readonly ['completed' | 'failed', string])[] = [
    ['completed', first],
    ['failed', second],
    ['completed', third],
    ['completed', `${both}-1`],
  ];
  for (const [state, id] of old) await age(board.toKey(state), id, HOUR_MS + 1_000);
  const config = { keepAcceptedMs: HOUR_MS, keepFailedMs: HOUR_MS };
  await deleteEnded(redis.client, keys, config, new AbortController().signal);
  expect(await counts()).toMatchObject({ completed: 0, failed: 1 });
  const kept = await redis.keys(prefix);
  const ofOld = (key: string) => old.some(([, id]) => key.startsWith(keys.noticeJob(id)));
  expect(kept.filter(ofOld)).toEqual([]);

  for (const [index, { key, sent }] of sends.entries()) {
    const again = await queue.send(sent, { idempotencyKey: key });
    expect(again).toMatchObject({ id: ids[index], duplicate: true });
  }
  expect(await counts()).toMatchObject({ waiting: 0, delayed: 0, active: 0, failed: 1 });
});

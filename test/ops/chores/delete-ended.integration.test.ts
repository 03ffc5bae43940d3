import { expect, it } from 'vitest';
import { NoticeQueue } from '../../../src/index.ts';
import { deleteEnded } from '../../../src/ops/chores/delete-ended.ts';
import { keysOf, QUEUE_NAME } from '../../../src/redis/keys.ts';
import { testRedis } from '../../support/redis.ts';
import { connectionAs } from '../../support/redis-users.ts';
import { until } from '../../support/wait.ts';
import { startWorkerInProcess } from '../../workers/support/worker-in-process.ts';
import { endedThen, failNotices } from '../support/failed-notices.ts';
import { bullQueue } from '../../support/bull-queue.ts';

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

it('ended notices whose time is over are deleted in an idle queue, and no others; their keys stay in use', async () => {
  const prefix = redis.freshPrefix();
  await using queue = new NoticeQueue({ redis: connectionAs('producer', redis.url), prefix });
  const send = (at: number) =>
    queue.send(notice(`0100000000${at}`), { idempotencyKey: `key-${at}` });
  const ids: string[] = [];
  for (const at of [1, 2, 3, 4]) ids.push((await send(at)).id);
  const states = async () => Promise.all(ids.map(async (id) => (await queue.get(id)).state));
  const emulated = { rejectContacts: ['01000000003', '01000000004'] };
  const first = await startWorkerInProcess(redis.url, prefix, {}, emulated);
  const sent = ['accepted', 'accepted', 'rejected', 'rejected'];
  await until(async () => String(await states()) === String(sent), { what: 'the ends' });
  await first.stop();

  const keys = keysOf(prefix, 'default');
  const board = bullQueue(QUEUE_NAME, redis.client, keys);
  const [, done = '', rejected = ''] = ids;
  await age(board.toKey('completed'), done, HOUR_MS + 1_000);
  await endedThen(redis.client, keys, rejected, Date.now() - 7 * 24 * HOUR_MS - 1_000);

  // As the next turn of a worker does.
  const config = { keepAcceptedMs: HOUR_MS, keepFailedMs: 7 * 24 * HOUR_MS };
  await deleteEnded(redis.client, keys, config, AbortSignal.abort());
  const counts = async () => [await board.getCompletedCount(), await redis.client.hlen(keys.ended)];
  expect(await counts()).toEqual([2, 2]);
  await redis.client.hdel(keys.turns, 'delete-ended');
  await startWorkerInProcess(redis.url, prefix);
  await until(async () => String(await counts()) === '1,1', { what: 'the deletion' });
  expect((await states()).filter((state) => state === 'not-kept')).toHaveLength(2);
  for (const [index, id] of ids.entries()) {
    expect(await send(index + 1)).toMatchObject({ id, duplicate: true });
  }
});

it('of expired, cancelled and accepted ones only the newest are kept; of others all', async () => {
  const { keys } = await failNotices(redis, redis.freshPrefix(), { count: 10_001 });
  await redis.client.rename(keys.endedIn('rejected'), keys.endedIn('expired'));
  const config = { keepAcceptedMs: HOUR_MS, keepFailedMs: HOUR_MS };
  await deleteEnded(redis.client, keys, config, new AbortController().signal);
  expect(await redis.client.zcard(keys.endedIn('expired'))).toBe(10_000);
  expect(await redis.client.hlen(keys.ended)).toBe(10_000);
});

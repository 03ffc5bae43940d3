import { expect, it, onTestFinished } from 'vitest';
import { NoticeQueue } from '../../src/index.ts';
import { deleteNotices, redriveNotices, selectFailed } from '../../src/ops/notice-actions.ts';
import { holdNextScript } from '../support/held-script.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';
import { endWaiting, failNotices } from './support/failed-notices.ts';

const redis = testRedis();
const WHO = { who: 'kim@desk', why: 'wrong template' };
const REJECTED = { state: 'rejected' } as const;

/** Two rejected notices, and what happens to the second one between the selection and its deletion. */
async function deleteBoth(
  meanwhile: (setup: Awaited<ReturnType<typeof failed>>) => Promise<unknown>,
) {
  const setup = await failed();
  const { keys, ids } = setup;
  const client = redis.connect({ name: 'deleting' });
  await selectFailed({ redis: client, keys }, { ...REJECTED, ids });
  const selected = holdNextScript(client);
  const report = deleteNotices({ redis: client, keys }, { ...REJECTED, ids }, WHO);
  await selected.answered;
  await meanwhile(setup);
  selected.letGo();
  return { ...setup, report: await report };
}

async function failed() {
  const { ids, keys } = await failNotices(redis, redis.freshPrefix(), { count: 2 });
  const [first = '', second = ''] = ids;
  const redrive = () =>
    redriveNotices({ redis: redis.client, keys }, { ...REJECTED, ids: [second] }, WHO);
  return { ids, keys, first, second, redrive };
}

it('deletes rejected notices, and not one that was sent again meanwhile', async () => {
  const { report, keys, first, second } = await deleteBoth(async ({ redrive }) => {
    expect(await redrive()).toMatchObject({ done: 1 });
  });
  expect(report).toEqual({ done: 1, contacts: 1, late: 0, gone: 1, left: 0 });
  expect(await redis.client.lrange(keys.noticesIn('wait'), 0, -1)).toEqual([second]);
  expect(await redis.client.exists(keys.noticeJob(second))).toBe(1);
  expect(await redis.client.exists(keys.noticeJob(first))).toBe(0);
  expect(await redis.client.zcard(keys.failedNotices)).toBe(0);
});

it('deletes no notice that failed again, or is listed as unknown, meanwhile', async () => {
  const again = await deleteBoth(async ({ keys, second, redrive }) => {
    await redrive();
    await redis.client.lrem(keys.noticesIn('wait'), 1, second);
    await redis.client.hset(keys.noticeJob(second), 'finishedOn', Date.now() + 1);
    await redis.client.zadd(keys.failedNotices, Date.now() + 1, second);
  });
  expect(again.report).toMatchObject({ done: 1, gone: 1 });
  const { report, keys, second } = await deleteBoth(({ keys: { intents }, second: id }) =>
    redis.client.hset(intents.unknown, id, '{}'),
  );
  expect(report).toMatchObject({ done: 1, gone: 1 });
  expect(await redis.client.zrange(keys.failedNotices, '0', '-1')).toEqual([second]);
});

it.each([
  { releaseKey: true, duplicate: false },
  { releaseKey: false, duplicate: true },
])(
  'a deletion whose process dies in between leaves nothing half done: $releaseKey',
  async ({ releaseKey, duplicate }) => {
    const prefix = redis.freshPrefix();
    const { keys } = await failNotices(redis, prefix, { count: 1 });
    // Otherwise the reply that is kept back is that Redis does not know the script yet.
    await deleteNotices({ redis: redis.client, keys }, REJECTED, WHO);
    await using queue = new NoticeQueue({ redis: connectionAs('producer', redis.url), prefix });
    const notice = { templateCode: 'T', contacts: [{ contact: '01000000001' }] };
    const key = { idempotencyKey: 'order-1' };
    const { id } = await queue.send(notice, key);
    await endWaiting(redis.client, keys, id);

    const client = redis.connect({ name: 'dying' });
    onTestFinished(() => client.disconnect());
    const selected = holdNextScript(client);
    const selection = { ...REJECTED, ids: [id] };
    const dying = deleteNotices({ redis: client, keys }, selection, WHO, releaseKey);
    const ended = dying.catch(() => 'dead');
    await selected.answered;
    selected.letGo();
    const deleted = holdNextScript(client);
    await deleted.answered;
    // Whatever the process sends from here on does not arrive.
    client.disconnect();
    deleted.letGo();
    await ended;

    const left = await redis.client.keys(`${keys.noticeJob(id)}*`);
    expect(left).toEqual([]);
    const again = await queue.send(notice, key);
    expect(again.duplicate).toBe(duplicate);
    expect(again.id === id).toBe(duplicate);
  },
);

import { expect, it } from 'vitest';
import { NoticeQueue } from '../../src/index.ts';
import { deleteNotices, redriveNotices } from '../../src/ops/notice-actions.ts';
import { changeEnded } from '../../src/notices/end-scripts.ts';
import { settleAgain } from '../../src/notices/send-again.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { holdNextScript } from '../support/held-script.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';
import { endWaiting, failNotices } from './support/failed-notices.ts';

const redis = testRedis();
const WHO = { who: 'kim@desk', why: 'wrong template' };
const REJECTED = { state: 'rejected' } as const;

/** Two rejected notices, and what happens to the one that is deleted last after the other one was. */
async function deleteBoth(
  meanwhile: (setup: Awaited<ReturnType<typeof failed>>) => Promise<unknown>,
) {
  const setup = await failed();
  const { keys } = setup;
  // They are deleted from the last one on.
  const ids = setup.ids.toReversed();
  const client = redis.connect({ name: 'deleting' });
  // Otherwise the reply that is kept back is that Redis does not know the script yet.
  await changeEnded(redis.client, keys, { id: 'none', text: '', state: 'rejected' }, {});
  await settleAgain(redis.client, keys);
  const settled = holdNextScript(client);
  const report = deleteNotices({ redis: client, keys }, { ...REJECTED, ids }, WHO);
  await settled.answered;
  const removed = holdNextScript(client);
  settled.letGo();
  await removed.answered;
  await meanwhile(setup);
  removed.letGo();
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
  expect(await redis.client.exists(keys.ended)).toBe(0);
});

it('deletes no notice that failed again meanwhile', async () => {
  const { report, keys, second } = await deleteBoth(async (setup) => {
    await setup.redrive();
    await endWaiting(redis.client, setup.keys, setup.second, { at: Date.now() + 1 });
  });
  expect(report).toMatchObject({ done: 1, gone: 1 });
  expect(await redis.client.zrange(keys.endedIn('rejected'), '0', '-1')).toEqual([second]);
});

it.each([
  { releaseKey: true, duplicate: false },
  { releaseKey: false, duplicate: true },
])(
  'releases an idempotency key only where it is told to: $releaseKey',
  async ({ releaseKey, duplicate }) => {
    const prefix = redis.freshPrefix();
    const keys = keysOf(prefix, 'default');
    await using queue = new NoticeQueue({ redis: connectionAs('producer', redis.url), prefix });
    const notice = { templateCode: 'T', contacts: [{ contact: '01000000001' }] };
    const key = { idempotencyKey: 'order-1' };
    const { id } = await queue.send(notice, key);
    await endWaiting(redis.client, keys, id);
    const selection = { ...REJECTED, ids: [id] };
    await deleteNotices({ redis: redis.client, keys }, selection, WHO, releaseKey);
    expect(await redis.client.keys(`${keys.noticeJob(id)}*`)).toEqual([]);
    const again = await queue.send(notice, key);
    expect(again.duplicate).toBe(duplicate);
    expect(again.id === id).toBe(duplicate);
  },
);

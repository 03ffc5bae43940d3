import { expect, it } from 'vitest';
import { findContact } from '../../src/index.ts';
import { sendAgain } from '../../src/notices/change-failed.ts';
import { readFailed } from '../../src/notices/failed-notices.ts';
import { run } from '../cli/support/run.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';
import { endWaiting } from './support/failed-notices.ts';
import { parkNotice } from './support/parked-notice.ts';

const redis = testRedis();
const FIND_KEY = '7'.repeat(64);
const FACTS = { traceId: 'trace-1', earlierTraceIds: ['trace-0'], possiblySent: 2 } as const;

/** An unknown notice that was possibly sent twice, and is sent again. */
async function sentAgain() {
  const parked = await parkNotice(redis, {}, undefined, FIND_KEY, FACTS);
  const { id, prefix } = parked;
  const json = async (...args: readonly string[]): Promise<unknown> => {
    const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
    return JSON.parse((await run([...args, '--json'], env)).stdout) as unknown;
  };
  const find = async () => {
    const options = { redis: connectionAs('ops', redis.url), prefix, findKey: FIND_KEY };
    return (await findContact('01000000001', options)).notices;
  };
  expect(await json('resolve', id, '--as', 'resend', '--yes')).toMatchObject({ resolved: 1 });
  return { ...parked, json, find, show: () => json('show', id) };
}

const EARLIER = [
  { state: 'unknown', attempts: 1, possiblySent: 2, traceIds: ['trace-0', 'trace-1'] },
];

it('a notice that is sent again keeps what was possibly sent before, with its trace ids', async () => {
  const { id, keys, json, find, show } = await sentAgain();
  const before = { possiblySent: 2, traceIds: ['trace-0', 'trace-1'] };
  expect(await show()).toMatchObject({ state: 'pending', ...before, earlier: EARLIER });
  expect(await find()).toMatchObject([{ states: ['pending'], possiblySent: 2 }]);
  const at = Date.now();
  await endWaiting(redis.client, keys, id, { failedReason: 'ECONNRESET', finishedOn: at });
  const facts = { ...FACTS, at, template: 'ONCE', contacts: 1, code: 'ECONNRESET', stage: 'sent' };
  const again = { ...facts, delivery: 'at-most-once', traceId: 'trace-3', possiblySent: 1 };
  const listed = JSON.stringify({ ...again, earlierTraceIds: undefined });
  await redis.client.hset(keys.intents.unknown, id, listed);
  await redis.client.zadd(keys.intents.unknownAt, at, id);
  expect(await json('unknown')).toMatchObject({
    notices: [{ possiblySent: 3, traceId: 'trace-3', earlierTraceIds: ['trace-0', 'trace-1'] }],
  });
  const after = { possiblySent: 3, traceIds: ['trace-0', 'trace-1', 'trace-3'] };
  expect(await show()).toMatchObject({ state: 'unknown', ...after, earlier: EARLIER });
  expect(await find()).toMatchObject([{ states: ['unknown'], possiblySent: 3 }]);
  // The runs are kept apart.
  expect(await json('resolve', id, '--as', 'resend', '--yes')).toMatchObject({ resolved: 1 });
  const [first, second] = [EARLIER[0], { possiblySent: 1, traceIds: ['trace-3'] }];
  expect(await show()).toMatchObject({ state: 'pending', ...after, earlier: [first, second] });
});

it('a decision whose process dies after the notice was queued again counts nothing twice', async () => {
  const parked = await parkNotice(redis, {}, undefined, FIND_KEY, FACTS);
  const { id, prefix, keys, listed } = parked;
  const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
  const json = async (...args: readonly string[]): Promise<unknown> =>
    JSON.parse((await run([...args, '--json'], env)).stdout) as unknown;
  for (const view of await readFailed(redis.client, keys, [id])) {
    expect(await sendAgain(redis.client, keys, view, 1, listed.at)).toBe(true);
  }
  const traceIds = ['trace-0', 'trace-1'];
  expect(await json('show', id)).toMatchObject({ state: 'pending', possiblySent: 2, traceIds });
  // It is rejected this time.
  await endWaiting(redis.client, keys, id);
  expect(await json('show', id)).toMatchObject({ state: 'rejected', possiblySent: 2, traceIds });
  expect(await json('unknown')).toMatchObject({ notices: [] });
});

it('a process that was asleep does not send again what is unknown anew and was not decided on', async () => {
  const { id, keys, listed, queue } = await parkNotice(redis, {}, undefined, FIND_KEY, FACTS);
  const [view] = await readFailed(redis.client, keys, [id]);
  if (view === undefined) throw new Error('the notice has not failed');
  expect(await sendAgain(redis.client, keys, view, 1)).toBe(false);
  expect(await sendAgain(redis.client, keys, view, 1, listed.at - 1)).toBe(false);
  expect(await queue.get(id)).toMatchObject({ state: 'unknown' });
});

it('a notice that expires after it was sent again was possibly sent before', async () => {
  const { id, keys, board, find, show } = await sentAgain();
  await redis.client.lrem(keys.noticesIn('wait'), 1, id);
  const end = { returnvalue: '{"outcome":"expired"}', finishedOn: Date.now() };
  await redis.client.hset(keys.noticeJob(id), end);
  await redis.client.zadd(board.toKey('completed'), end.finishedOn, id);
  const remedy = 'Check the notice at the service before you send it again.';
  expect(await show()).toMatchObject({
    state: 'expired',
    possiblySent: 2,
    remedy,
    earlier: EARLIER,
  });
  expect(await find()).toMatchObject([{ states: ['expired'], possiblySent: 2 }]);
});

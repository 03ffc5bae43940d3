import { expect, it, onTestFinished } from 'vitest';
import { findContact, NoticeQueue } from '../../src/index.ts';
import { EARLIER_FIELD } from '../../src/notices/job-lua.ts';
import { keysOf, QUEUE_NAME } from '../../src/redis/keys.ts';
import { openBullQueue } from '../../src/redis/open-queue.ts';
import { run } from '../cli/support/run.ts';
import { parkNotice } from '../ops/support/parked-notice.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';

const redis = testRedis();
const FIND_KEY = '7'.repeat(64);

it('a failed notice that was possibly sent is unknown to the search and to the look-up, listed or not', async () => {
  const { id, prefix, keys } = await parkNotice(redis, {}, undefined, FIND_KEY);
  const options = { redis: connectionAs('ops', redis.url), prefix, findKey: FIND_KEY };
  const found = async () => (await findContact('01000000001', options)).notices[0]?.states;
  const shown = async () => {
    const { stdout } = await run(['show', id, '--json'], {
      REDIS_URL: redis.url,
      REDIS_PREFIX: prefix,
    });
    return [(JSON.parse(stdout) as { state: string }).state];
  };
  expect([await found(), await shown()]).toEqual([['unknown'], ['unknown']]);
  await redis.client.hdel(keys.intents.unknown, id);
  await redis.client.zrem(keys.intents.unknownAt, id);
  await redis.client.hset(keys.noticeJob(id), 'failedReason', 'INVALID_CONTACT: refused');
  expect([await found(), await shown()]).toEqual([['rejected'], ['rejected']]);
});

it('a contact with a result of its own is found with its own state, code and count', async () => {
  const { id, prefix, keys } = await parkNotice(redis, {}, undefined, FIND_KEY);
  const number = '01000000001';
  const options = { redis: connectionAs('ops', redis.url), prefix, findKey: FIND_KEY };
  const data = JSON.parse((await redis.client.hget(keys.noticeJob(id), 'data')) ?? '') as {
    notice: object;
  };
  const foundWith = async (beside: object) => {
    const notice = { ...data.notice, contacts: [{ contact: '01000000002' }] };
    const stored = JSON.stringify({ ...data, notice, ...beside });
    await redis.client.hset(keys.noticeJob(id), 'data', stored);
    const [found] = (await findContact(number, options)).notices;
    return found && [found.states, found.code, found.possiblySent];
  };
  const one = { contact: { contact: number }, code: 'BLOCKED' };
  const sends = { possiblySent: 3, traceIds: ['t-1'] };
  expect(await foundWith({ accepted: [number] })).toEqual([['accepted'], undefined, 1]);
  expect(await foundWith({ settled: [{ ...one, state: 'rejected' }] })).toEqual([
    ['rejected'],
    'BLOCKED',
    undefined,
  ]);
  const unknown = { ...one, state: 'unknown', code: 'NOT_IN_RESULTS', ...sends };
  expect(await foundWith({ settled: [unknown] })).toEqual([['unknown'], 'NOT_IN_RESULTS', 3]);
  // Sent again before.
  const before = {
    state: 'unknown',
    code: 'TIMEOUT',
    attempts: 1,
    possiblySent: 2,
    at: 2,
    endedAt: 1,
  };
  await redis.client.hset(keys.noticeJob(id), EARLIER_FIELD, JSON.stringify([before]));
  expect(await foundWith({ settled: [unknown] })).toEqual([['unknown'], 'NOT_IN_RESULTS', 5]);
  const rejected = { ...one, state: 'rejected' };
  expect(await foundWith({ settled: [rejected] })).toEqual([['rejected'], 'BLOCKED', 2]);
});

/** What a search says of a number whose one notice is no longer kept. */
async function foundOf(prefix: string, number: string) {
  const options = { redis: connectionAs('ops', redis.url), prefix, findKey: FIND_KEY };
  const [notice] = (await findContact(number, options)).notices;
  return notice && { states: notice.states, confirmed: notice.confirmed };
}

it('a cancelled notice that is no longer kept may be cancelled, and is not called accepted', async () => {
  const prefix = redis.freshPrefix();
  const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
  const connection = connectionAs('application', redis.url);
  const queue = new NoticeQueue({ redis: connection, prefix, findKey: FIND_KEY });
  onTestFinished(() => queue.close());
  const notice = { templateCode: 'T', contacts: [{ contact: '01000000001' }] };
  const { id } = await queue.send(notice, { delay: 3_600_000, idempotencyKey: 'visit-1' });
  expect((await run(['cancel', '--key', 'visit-1'], env)).code).toBe(0);
  // As after KEEP_ACCEPTED_MS.
  const board = openBullQueue(QUEUE_NAME, redis.client, keysOf(prefix, 'default'));
  onTestFinished(() => board.close());
  await board.remove(id);
  expect(await foundOf(prefix, '01000000001')).toEqual({
    states: ['accepted', 'rejected', 'cancelled'],
    confirmed: false,
  });
});

it('a rejected notice that was deleted is not called accepted', async () => {
  const { id, prefix, keys } = await parkNotice(redis, {}, undefined, FIND_KEY);
  await redis.client.hdel(keys.intents.unknown, id);
  await redis.client.zrem(keys.intents.unknownAt, id);
  await redis.client.hset(keys.noticeJob(id), 'failedReason', 'INVALID_CONTACT: refused');
  const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
  expect((await run(['delete', id, '--yes'], env)).code).toBe(0);
  expect(await foundOf(prefix, '01000000001')).toEqual({
    states: ['accepted', 'rejected', 'cancelled'],
    confirmed: false,
  });
});

it.each([
  ['discard', ['accepted', 'rejected', 'cancelled']],
  ['accepted', ['accepted', 'rejected']],
])(
  'a decision about some contacts of a notice (%s) confirms nothing of the others',
  async (as, states) => {
    const { id, prefix, keys } = await parkNotice(redis, {}, undefined, FIND_KEY);
    const text = (await redis.client.hget(keys.noticeJob(id), 'data')) ?? '';
    const data = JSON.parse(text) as { notice: object };
    const notice = { ...data.notice, contacts: [{ contact: '01000000002' }] };
    const stored = JSON.stringify({ ...data, notice, accepted: ['01000000001'] });
    await redis.client.hset(keys.noticeJob(id), 'data', stored);
    const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
    expect((await run(['resolve', id, '--as', as, '--yes'], env)).code).toBe(0);
    expect(await foundOf(prefix, '01000000001')).toEqual({ states, confirmed: false });
  },
);

it('a decision to send again confirms no outcome', async () => {
  const { id, prefix, board } = await parkNotice(redis, {}, undefined, FIND_KEY);
  const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
  expect((await run(['resolve', id, '--as', 'resend', '--yes'], env)).code).toBe(0);
  await board.remove(id);
  expect(await foundOf(prefix, '01000000001')).toEqual({
    states: ['accepted', 'rejected', 'cancelled'],
    confirmed: false,
  });
});

it('where more was recorded than a search reads, every outcome is possible', async () => {
  const { id, prefix, board, keys } = await parkNotice(redis, {}, undefined, FIND_KEY);
  const env = { REDIS_URL: redis.url, REDIS_PREFIX: prefix };
  expect((await run(['resolve', id, '--as', 'discard', '--yes'], env)).code).toBe(0);
  await board.remove(id);
  const confirmed = { states: ['cancelled'], confirmed: true };
  expect(await foundOf(prefix, '01000000001')).toEqual(confirmed);
  const later = redis.client.pipeline();
  for (let entry = 0; entry < 10_000; entry += 1) {
    later.xadd(keys.audit, '*', 'what', 'resolve', 'target', `other-${entry}`, 'as', 'discard');
  }
  await later.exec();
  expect(await foundOf(prefix, '01000000001')).toEqual({
    states: ['accepted', 'rejected', 'unknown', 'cancelled'],
    confirmed: false,
  });
});

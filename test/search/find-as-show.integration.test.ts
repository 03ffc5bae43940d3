import { expect, it, onTestFinished } from 'vitest';
import { findContact, NoticeQueue } from '../../src/index.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { run } from '../cli/support/run.ts';
import { parkNotice } from '../ops/support/parked-notice.ts';
import { testRedis } from '../support/redis.ts';
import { connectionAs } from '../support/redis-users.ts';

const redis = testRedis();
const FIND_KEY = '7'.repeat(64);

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
  // As after KEEP_FAILED_MS.
  await redis.client.hdel(keysOf(prefix, 'default').ended, id);
  expect(await foundOf(prefix, '01000000001')).toEqual({
    states: ['accepted', 'rejected', 'cancelled'],
    confirmed: false,
  });
});

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

import { expect, it } from 'vitest';
import { findContact } from '../../src/index.ts';
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
  // An earlier version, or a worker that died right then, left no entry in the list.
  await redis.client.hdel(keys.intents.unknown, id);
  await redis.client.zrem(keys.intents.unknownAt, id);
  const reason = 'HTTP_500: no answer (may have been taken: 1)';
  await redis.client.hset(keys.noticeJob(id), 'failedReason', reason);
  expect([await found(), await shown()]).toEqual([['unknown'], ['unknown']]);
  await redis.client.hset(keys.noticeJob(id), 'failedReason', 'INVALID_CONTACT: refused');
  expect([await found(), await shown()]).toEqual([['rejected'], ['rejected']]);
});

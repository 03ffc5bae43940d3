import { expect, it } from 'vitest';
import { setFieldsAside } from '../../../workers/queue/bull-backend.ts';
import { testRedis } from '../../support/redis.ts';

const redis = testRedis();

it.each([
  [{ data: '{"v":1,' }, { data: 'null', 'notices:unreadable': 'data {"v":1,\n' }],
  [
    { data: '{"v":1}', opts: '{"attempts":' },
    { data: '{"v":1}', opts: '{}', 'notices:unreadable': 'opts {"attempts":\n' },
  ],
  [
    { data: '{', rjk: 'a', stc: 'x', ats: '1' },
    { data: 'null', ats: '1', 'notices:unreadable': 'stc x\nrjk a\ndata {\n' },
  ],
])(
  'keeps the text of fields that cannot be read, also when set aside twice: %j',
  async (of, then) => {
    const key = `${redis.freshPrefix()}:job`;
    await redis.client.hset(key, of);
    await setFieldsAside(redis.client, key);
    await setFieldsAside(redis.client, key);
    expect(await redis.client.hgetall(key)).toEqual(then);
  },
);

it('creates no job that is gone', async () => {
  const key = `${redis.freshPrefix()}:gone`;
  await setFieldsAside(redis.client, key);
  expect(await redis.client.exists(key)).toBe(0);
});

import { expect, it } from 'vitest';
import { eraseIdempotencyKeys } from '../../src/erase/erase-number.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { testRedis } from '../support/redis.ts';

const redis = testRedis();

it.each([
  ['is removed', 'n-erased', 1],
  ['stays where it has expired and another notice has it by then', 'n-other', 0],
])('a key %s', async (_, holder, erased) => {
  const keys = keysOf(redis.freshPrefix(), 'default');
  const key = keys.noticeJob('de:k');
  await redis.client.set(key, 'n-erased');
  const client = redis.connect({ name: 'eraser' });
  const get = client.get.bind(client);
  const value = async (name: string) => {
    const held = await get(name);
    await redis.client.set(name, holder);
    return held;
  };
  Object.defineProperty(client, 'get', { value });
  expect(await eraseIdempotencyKeys(client, keys, new Set(['n-erased']))).toBe(erased);
  expect(await redis.client.exists(key)).toBe(1 - erased);
});

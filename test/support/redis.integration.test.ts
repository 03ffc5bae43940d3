import { expect, it } from 'vitest';
import { testRedis } from './redis.ts';

const redis = testRedis();

it('cleans its own namespace and nothing else', async () => {
  const [mine, other] = [redis.freshPrefix(), redis.freshPrefix()];
  expect(mine).not.toBe(other);
  const theirs = `somebody-${redis.prefix.slice(-6)}`;
  await redis.client.set(`{${mine}:default}:hold`, '1');
  await redis.client.set(`{${other}:default}:hold`, '1');
  await redis.client.set(theirs, '1');
  expect(await redis.keys(mine)).toEqual([`{${mine}:default}:hold`]);
  expect(await redis.keys()).toHaveLength(2);
  await redis.cleanup();
  expect(await redis.keys()).toEqual([]);
  expect(await redis.client.del(theirs)).toBe(1);
});

it('names its connections, so that one left open can be found', async () => {
  const named = redis.connect({ name: 'fleet' });
  expect(await named.client('GETNAME')).toBe('fleet');
});

import { expect, it } from 'vitest';
import { testRedis } from '../support/redis.ts';
import { fuzzedOps } from './support/ops.ts';
import { fuzz } from './support/target.ts';

const redis = testRedis();

it('the ops server answers or refuses hostile requests, and lives', async () => {
  const { target, isAlive } = await fuzzedOps(redis.url, redis.freshPrefix());
  await fuzz(target, { runs: 300 });
  expect(await isAlive()).toBe(true);
});

import { expect, it } from 'vitest';
import { testRedis } from '../../support/redis.ts';
import { RULES } from './support/notice-world.ts';
import { playNotices } from './support/play-notices.ts';

const redis = testRedis();

it('a notice, its workers and its queue do what their model does', async () => {
  const { seed, moves, different } = await playNotices(redis, 60);
  expect(different, `NOTICES_SEED=${seed}`).toEqual([]);
  expect(moves).toBeGreaterThan(300);
}, 60_000);

it('another model is noticed', async () => {
  const { different } = await playNotices(redis, 40, {
    rules: { ...RULES, countsAgain: false },
    seed: 1,
  });
  expect(different.join()).toContain('twice');
}, 60_000);

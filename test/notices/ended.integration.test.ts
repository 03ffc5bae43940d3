import { expect, it } from 'vitest';
import { endedNotices, type EndedRange } from '../../src/notices/ended.ts';
import { failNotices } from '../ops/support/failed-notices.ts';
import { testRedis } from '../support/redis.ts';

const redis = testRedis();

it('many entries are read in pages, also where thousands ended at the same time', async () => {
  const { ids, keys } = await failNotices(redis, redis.freshPrefix(), { count: 22_000 });
  const index = keys.endedIn('rejected');
  const same = ids.slice(3_000, 17_000).flatMap((id) => ['5', id]);
  for (let from = 0; from < same.length; from += 10_000) {
    await redis.client.zadd(index, ...same.slice(from, from + 10_000));
  }
  const read = async (range: EndedRange) => {
    const found: string[] = [];
    for await (const page of endedNotices(redis.client, keys, ['rejected'], range)) {
      found.push(...page.map(({ id }) => id));
    }
    return found;
  };
  const first = await redis.client.zrange(index, '0', '-1');
  expect(await read({ oldestFirst: true })).toEqual(first);
  expect(await read({})).toEqual(first.toReversed());
  expect(await read({ most: 10_500 })).toEqual(first.toReversed().slice(0, 10_500));
  expect(await read({ before: 6 })).toHaveLength(14_000);
});

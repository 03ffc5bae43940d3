import { expect, it } from 'vitest';
import { promoteJobs } from '../../../src/batch/import/queue-chunks.ts';
import { CHUNK_QUEUE_NAME } from '../../../src/redis/keys.ts';
import { testRedis } from '../../support/redis.ts';
import { bullQueue } from '../../support/bull-queue.ts';

const redis = testRedis();

it('a changed rate makes the chunks due that wait for their turns, and none that was tried', async () => {
  const { keys } = redis.account();
  const queue = bullQueue(CHUNK_QUEUE_NAME, redis.client, keys);
  const delayed = (batch: string, count: number) =>
    Array.from({ length: count }, (_, chunk) => {
      const opts = { jobId: `${batch}-${chunk}`, delay: 60_000 };
      return { name: 'chunk', data: { batch, chunk }, opts };
    });
  // More than are read at a time, most of them of another list.
  await queue.addBulk([...delayed('other', 600), ...delayed('own', 3)]);
  await redis.client.hset(queue.toKey('own-2'), 'atm', 1);
  await promoteJobs(queue, 'own');
  const due = (await queue.getWaiting()).map(({ id }) => id ?? '');
  expect(new Set(due)).toEqual(new Set(['own-0', 'own-1']));
  expect(await queue.getDelayedCount()).toBe(601);
});

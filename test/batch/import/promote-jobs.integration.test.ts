import { expect, it, onTestFinished } from 'vitest';
import { promoteJobs } from '../../../src/batch/import/queue-chunks.ts';
import { CHUNK_QUEUE_NAME, keysOf } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import { testRedis } from '../../support/redis.ts';

const redis = testRedis();

it('a changed rate makes the chunks due that wait for their turns, and none that was tried', async () => {
  const keys = keysOf(redis.freshPrefix(), 'default');
  const queue = openBullQueue(CHUNK_QUEUE_NAME, redis.client, keys);
  onTestFinished(() => queue.close());
  const delayed = async (batch: string, chunk: number) => {
    const options = { jobId: `${batch}-${chunk}`, delay: 60_000 };
    return (await queue.add('chunk', { batch, chunk }, options)).id ?? '';
  };
  // More than are read at a time, most of them of another list.
  for (let chunk = 0; chunk < 600; chunk += 1) await delayed('other', chunk);
  for (let chunk = 0; chunk < 3; chunk += 1) await delayed('own', chunk);
  await redis.client.hset(queue.toKey('own-2'), 'atm', 1);
  await promoteJobs(queue, 'own');
  const due = (await queue.getWaiting()).map(({ id }) => id ?? '');
  expect(new Set(due)).toEqual(new Set(['own-0', 'own-1']));
  expect(await queue.getDelayedCount()).toBe(601);
});

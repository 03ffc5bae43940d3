import { expect, it } from 'vitest';
import { END_FIELDS, findEnd, rememberEnd } from '../../src/fleet/job-ends.ts';
import { testRedis } from '../support/redis.ts';

const redis = testRedis();
const END = { kind: 'failed', reason: 'REJECTED' } as const;

async function newJob(fields: Readonly<Record<string, string>> = {}): Promise<string> {
  const key = redis.freshPrefix();
  await redis.client.hset(key, { data: '{}', ...fields });
  return key;
}

it('the first run after each stall waits before it concludes that nothing is stored', async () => {
  const job = await newJob();
  const ask = (stalls: number) => findEnd(redis.client, job, stalls, 'ask');
  expect(await ask(1)).toBe('wait');
  // The run that waited died.
  expect(await ask(1)).toBe('wait');
  expect(await findEnd(redis.client, job, 1, 'waited')).toBe('none');
  expect(await ask(1)).toBe('none');
  expect(await ask(2)).toBe('wait');
});

it('a stored end is found until it is forgotten', async () => {
  const job = await newJob();
  await rememberEnd(redis.client, job, END);
  await rememberEnd(redis.client, job, END);
  expect(await findEnd(redis.client, job, 1, 'ask')).toEqual(END);
  expect(await findEnd(redis.client, job, 1, 'ask')).toEqual(END);
  await redis.client.hdel(job, ...END_FIELDS);
  expect(await findEnd(redis.client, job, 1, 'ask')).toBe('wait');
});

it('nothing is stored for a job that is over or gone', async () => {
  const over = await newJob({ finishedOn: '1' });
  const gone = redis.freshPrefix();
  for (const job of [over, gone]) await rememberEnd(redis.client, job, END);
  expect(await redis.client.hkeys(over)).toEqual(['data', 'finishedOn']);
  expect(await redis.client.exists(gone)).toBe(0);
});

import type { Job } from 'bullmq';
import { expect, it } from 'vitest';
import { setDataAside } from '../../../workers/queue/unreadable-job.ts';
import { testRedis } from '../../support/redis.ts';

const redis = testRedis();

it('keeps the text of a job that cannot be read, also when it is set aside twice', async () => {
  const prefix = redis.freshPrefix();
  const job = { queueQualifiedName: prefix, id: 'job' } as unknown as Job;
  const key = `${prefix}:job`;
  await redis.client.hset(key, 'data', '{"v":1,');
  await setDataAside(job, redis.client);
  await setDataAside(job, redis.client);
  expect(await redis.client.hgetall(key)).toEqual({ data: 'null', 'notices:data': '{"v":1,' });
});

it('creates no job that is gone', async () => {
  const prefix = redis.freshPrefix();
  await setDataAside({ queueQualifiedName: prefix, id: 'gone' } as unknown as Job, redis.client);
  expect(await redis.client.exists(`${prefix}:gone`)).toBe(0);
});

it('keeps the text of options that cannot be read, and of the data beside them', async () => {
  const prefix = redis.freshPrefix();
  const job = { queueQualifiedName: prefix, id: 'job' } as unknown as Job;
  const key = `${prefix}:job`;
  await redis.client.hset(key, { data: '{"v":1}', opts: '{"attempts":' });
  await setDataAside(job, redis.client);
  await setDataAside(job, redis.client);
  expect(await redis.client.hgetall(key)).toEqual({
    data: 'null',
    opts: '{}',
    'notices:data': '{"v":1}',
    'notices:opts': '{"attempts":',
  });
});

import { UnrecoverableError, type Job } from 'bullmq';
import { describe, expect, it } from 'vitest';
import { END_FIELDS, rememberEnd, type JobEnd } from '../../../src/fleet/job-ends.ts';
import { endStoredAfterStall } from '../../../workers/queue/end-after-stall.ts';
import { testRedis } from '../../support/redis.ts';

const redis = testRedis();

async function stalledJob(): Promise<{ job: Job; key: string }> {
  const prefix = redis.freshPrefix();
  const job = { queueQualifiedName: prefix, id: 'job', stalledCounter: 1 } as unknown as Job;
  const key = `${prefix}:job`;
  await redis.client.hset(key, 'name', 'send');
  return { job, key };
}

describe('the first run after a stall', () => {
  const ends: [JobEnd, unknown][] = [
    [{ kind: 'completed', result: { outcome: 'accepted' } }, { outcome: 'accepted' }],
    [{ kind: 'failed', reason: 'REJECTED' }, new UnrecoverableError('REJECTED')],
  ];
  it.each(ends)('waits for the worker that still has the end: %j', async (end, expected) => {
    const { job, key } = await stalledJob();
    const found = endStoredAfterStall(job, redis.client).catch((error: unknown) => error);
    // Long after the first look.
    await new Promise((resolve) => setTimeout(resolve, 300));
    await rememberEnd(redis.client, key, end);
    expect(await found).toEqual(expected);
  });

  it('waits once for each stall', async () => {
    const { job } = await stalledJob();
    const startedAt = performance.now();
    expect(await endStoredAfterStall(job, redis.client)).toBeUndefined();
    expect(performance.now() - startedAt).toBeGreaterThan(1_400);
    const again = performance.now();
    expect(await endStoredAfterStall(job, redis.client)).toBeUndefined();
    expect(performance.now() - again).toBeLessThan(1_000);
  });

  it('waits again for a stall after the notice was sent again', async () => {
    const { job, key } = await stalledJob();
    expect(await endStoredAfterStall(job, redis.client)).toBeUndefined();
    await redis.client.hdel(key, ...END_FIELDS);
    const found = endStoredAfterStall(job, redis.client).catch((error: unknown) => error);
    await rememberEnd(redis.client, key, { kind: 'completed', result: { outcome: 'accepted' } });
    expect(await found).toEqual({ outcome: 'accepted' });
  });
});

import { UnrecoverableError, type Job } from 'bullmq';
import { describe, expect, it } from 'vitest';
import { END_FIELDS, rememberEnd, type JobEnd } from '../../../src/fleet/job-ends.ts';
import { UnknownOutcomeError } from '../../../workers/queue/attempt-error.ts';
import { endStoredAfterStall } from '../../../workers/queue/end-after-stall.ts';
import { testRedis } from '../../support/redis.ts';

const redis = testRedis();

/** Its first run stalled, and its second one has it. */
async function stalledJob(): Promise<{ job: Job; key: string }> {
  const prefix = redis.freshPrefix();
  const job = {
    queueQualifiedName: prefix,
    id: 'job',
    stalledCounter: 1,
    attemptsStarted: 2,
    token: 'second',
  } as unknown as Job;
  const key = `${prefix}:job`;
  await redis.client.hset(key, 'name', 'send', 'stc', '1');
  await redis.client.set(`${key}:lock`, 'second');
  return { job, key };
}

const RUN = { started: 1, sentAgainAt: 0 };
const end = (job: Job) => endStoredAfterStall(job, redis.client, true);

describe('the first run after a stall', () => {
  const ends: [JobEnd, unknown][] = [
    [{ kind: 'completed', result: { outcome: 'accepted' } }, { outcome: 'accepted' }],
    [{ kind: 'failed', reason: 'REJECTED' }, new UnrecoverableError('REJECTED')],
  ];
  it.each(ends)('waits for the worker that still has the end: %j', async (stored, expected) => {
    const { job, key } = await stalledJob();
    const found = end(job).catch((error: unknown) => error);
    // Long after the first look.
    await new Promise((resolve) => setTimeout(resolve, 300));
    await rememberEnd(redis.client, key, stored, RUN);
    expect(await found).toEqual(expected);
  });

  it('waits once for each stall', async () => {
    const { job } = await stalledJob();
    const startedAt = performance.now();
    expect(await end(job)).toBeUndefined();
    expect(performance.now() - startedAt).toBeGreaterThan(1_400);
    const again = performance.now();
    expect(await end(job)).toBeUndefined();
    expect(performance.now() - again).toBeLessThan(1_000);
  });

  it('waits again for a stall after the notice was sent again', async () => {
    const { job, key } = await stalledJob();
    expect(await end(job)).toBeUndefined();
    await redis.client.hdel(key, ...END_FIELDS);
    const found = end(job).catch((error: unknown) => error);
    const accepted = { outcome: 'accepted' };
    await rememberEnd(redis.client, key, { kind: 'completed', result: accepted }, RUN);
    expect(await found).toEqual({ outcome: 'accepted' });
  });

  const rejected = { kind: 'failed', reason: 'REJECTED' } as const;
  it.each([
    ['the run before stored it', { started: 2, token: 'second' }, '0', []],
    ['a run in between may have sent it', { started: 3, token: 'second' }, '1', ['REJECTED']],
    ['another run has the job', { started: 2, token: 'first' }, '1', []],
  ] as const)('counts the stall or not: %s', async (_, { started, token }, stc, listed) => {
    const { job, key } = await stalledJob();
    Object.assign(job, { attemptsStarted: started, token });
    await rememberEnd(redis.client, key, rejected, RUN);
    const asked: string[] = [];
    const noteAsked = async (one: Job, reason: string) => {
      if (one.stalledCounter > 0) asked.push(reason);
      return await Promise.resolve(one.stalledCounter > 0);
    };
    const error = await endStoredAfterStall(job, redis.client, true, noteAsked).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ name: 'UnrecoverableError', message: 'REJECTED' });
    // The event of the end tells what the lists tell.
    expect(error instanceof UnknownOutcomeError).toBe(listed.length > 0);
    expect([await redis.client.hget(key, 'stc'), asked]).toEqual([stc, listed]);
  });

  it('counts the stall of a run that could not store what became of some contacts', async () => {
    const { job, key } = await stalledJob();
    await rememberEnd(redis.client, key, rejected, { started: 0, sentAgainAt: 0 });
    await expect(end(job)).rejects.toThrow('REJECTED');
    expect(await redis.client.hget(key, 'stc')).toBe('1');
  });

  it('has an unknown end where that was stored', async () => {
    const { job, key } = await stalledJob();
    await rememberEnd(redis.client, key, { ...rejected, unknown: true }, RUN);
    await expect(end(job)).rejects.toBeInstanceOf(UnknownOutcomeError);
  });

  it('goes on in spite of an end where the ledger knows better', async () => {
    const { job, key } = await stalledJob();
    await rememberEnd(redis.client, key, rejected, RUN);
    expect(await endStoredAfterStall(job, redis.client, false)).toBeUndefined();
    expect(await redis.client.hget(key, 'stc')).toBe('1');
  });
});

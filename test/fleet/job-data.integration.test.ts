import { expect, it } from 'vitest';
import { replaceJobData } from '../../src/fleet/job-data.ts';
import { testRedis } from '../support/redis.ts';

const redis = testRedis();
const RUN = { token: 'ours', started: 1, addedAt: 7 };

/** When it was added. */
const ADDED = { timestamp: '7' };
const AGAIN = { timestamp: '8' };

/** The data of a job after a run has replaced it, in this state, and what the run was answered. */
async function after(
  fields: Readonly<Record<string, string>>,
  lock: string | undefined,
): Promise<[data: string | null, isWritten: boolean]> {
  const job = redis.freshPrefix();
  if (Object.keys(fields).length > 0) await redis.client.hset(job, fields);
  if (lock !== undefined) await redis.client.set(`${job}:lock`, lock);
  const isWritten = await replaceJobData(redis.client, job, RUN, 'new');
  return [await redis.client.hget(job, 'data'), isWritten];
}

it.each([
  ['the run has the job', { ats: '1' }, 'ours', 'new'],
  ['its lock has ended, and no other run has started', { ats: '1' }, undefined, 'new'],
  ['contacts were erased since', { ats: '1', 'notices:erased': '1' }, undefined, 'old'],
  ['contacts were erased in an earlier run', { ats: '1', 'notices:erased': '0' }, 'ours', 'new'],
  ['another run has it', { ats: '2' }, 'theirs', 'old'],
  ['another run had it, and it waits', { ats: '2' }, undefined, 'old'],
  ['it has ended', { ats: '1', finishedOn: '1' }, undefined, 'old'],
  ['it was sent again, and waits', AGAIN, undefined, 'old'],
  ['it was sent again, and has run once', { ats: '1', ...AGAIN }, undefined, 'old'],
  ['a person has it sent again, and another program the lock', AGAIN, 'ours', 'old'],
] as const)('%s', async (_, fields, lock, expected) => {
  const found = await after({ data: 'old', ...ADDED, ...fields }, lock);
  expect(found).toEqual([expected, expected === 'new']);
});

it('a repetition has the same answer, also where another run has the job by then', async () => {
  const fields = { data: 'new', ats: '2' };
  expect(await after(fields, 'theirs')).toEqual(['new', true]);
});

it('a job that is gone stays so', async () => {
  expect(await after({}, 'ours')).toEqual([null, false]);
});

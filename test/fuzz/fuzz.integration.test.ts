import { expect, it } from 'vitest';
import { room } from '../service-coverage/support/line.ts';
import { runHostileJobs } from './support/queued-jobs.ts';
import { fuzz } from './support/target.ts';
import { fuzzedOps } from './targets/ops-requests.ts';

const lines = room();

it('a worker ends jobs with hostile data, and sends the others', { timeout: 90_000 }, async () => {
  expect(await runHostileJobs(lines, 60)).toEqual({ lost: [], broken: [] });
});

it('the ops server answers or refuses hostile requests, and lives', async () => {
  const { redis } = lines;
  const { target, isAlive } = await fuzzedOps(redis.url, redis.freshPrefix());
  await fuzz(target, { runs: 300 });
  expect(await isAlive()).toBe(true);
});

import { expect, it } from 'vitest';
import { room } from '../service-coverage/support/line.ts';
import { runHostileJobs } from './support/queued-jobs.ts';

const lines = room();

it('a worker ends jobs with hostile data, and sends the others', { timeout: 90_000 }, async () => {
  expect(await runHostileJobs(lines, 60)).toEqual({ lost: [], broken: [] });
});

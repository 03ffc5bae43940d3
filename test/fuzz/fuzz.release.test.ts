import { describe, expect, it } from 'vitest';
import { room } from '../service-coverage/support/line.ts';
import { fuzzedOps } from './targets/ops-requests.ts';
import { runHostileJobs } from './support/queued-jobs.ts';
import { growthOf, MOST_GROWTH } from './support/target.ts';
import { ANSWER_TARGETS } from './targets/answers.ts';
import { CONFIGURATION_TARGETS } from './targets/configuration.ts';
import { JOB_TARGETS } from './targets/jobs.ts';
import { LIST_TARGETS } from './targets/lists.ts';

const MS = 20_000;
const TIMEOUT = { timeout: 10 * MS };
const lines = room();

describe('hostile input for minutes', () => {
  it.each([...JOB_TARGETS, ...ANSWER_TARGETS, ...LIST_TARGETS, ...CONFIGURATION_TARGETS])(
    '$name: is read or refused, and memory does not grow',
    TIMEOUT,
    async (one) => {
      expect(await growthOf(one, MS)).toBeLessThan(MOST_GROWTH);
    },
  );

  it(
    'requests to the ops server are answered or refused, and memory does not grow',
    TIMEOUT,
    async () => {
      const { redis } = lines;
      const { target, isAlive } = await fuzzedOps(redis.url, redis.freshPrefix());
      expect(await growthOf(target, 2 * MS)).toBeLessThan(MOST_GROWTH);
      expect(await isAlive()).toBe(true);
    },
  );

  it('a worker ends a thousand jobs with hostile data, and sends the others', TIMEOUT, async () => {
    expect(await runHostileJobs(lines, 1_000)).toEqual({ lost: [], broken: [] });
  });
});

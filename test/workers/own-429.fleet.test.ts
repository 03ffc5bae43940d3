import { describe, expect, it } from 'vitest';
import type { JobData } from '../../src/contracts/job.ts';
import type { Fault } from '../../src/emulator/faults/fault.ts';
import { numbers } from '../support/fleet.ts';
import { until } from '../support/wait.ts';
import { amongOthers, holdingFleet } from './support/holding-fleet.ts';

/** Answers that are usually about the account, to one notice alone. */
describe('one notice that alone is answered', () => {
  const { start, jobsLeft } = holdingFleet();

  it.each<[string, Omit<Fault, 'on'>, Record<string, string>]>([
    ['429', { status: 429 }, { CONCURRENCY: '1' }],
    ['429 with Retry-After: 1', { status: 429, retryAfter: 1 }, {}],
    ['503 with Retry-After: 1', { status: 503, retryAfter: 1 }, { CONCURRENCY: '1' }],
    ['503 with Retry-After: 0', { status: 503, retryAfter: 0 }, {}],
  ])(
    '%s: the others are sent within seconds, and it ends by its attempts',
    async (_, fault, env) => {
      const on = await start(1, { ATTEMPTS: '3', BACKOFF_BASE_MS: '100', ...env });
      const { emulator } = on;
      const [own = '', ...good] = numbers(60);
      emulator.addFault({ on: 'send', containing: own, ...fault });
      const begun = performance.now();
      await on.sendEach([own, ...good]);
      await until(() => emulator.record().distinct === good.length, {
        what: 'the good ones',
        deadlineMs: 15_000,
      });
      expect(performance.now() - begun).toBeLessThan(10_000);
      const isOwn = ({ notice }: JobData) => notice.contacts.some(({ contact }) => contact === own);
      const ended = async () =>
        (await jobsLeft()).find(
          ({ data, finishedOn }) => isOwn(data as JobData) && finishedOn !== undefined,
        );
      await amongOthers(on, () => until(ended, { what: 'its end', deadlineMs: 60_000 }));
      const failed = await ended();
      expect(failed?.attemptsMade).toBe(3);
      expect(failed?.failedReason).toContain(`HTTP_${fault.status}`);
      expect(emulator.record().twice).toBe(0);
    },
    120_000,
  );
});

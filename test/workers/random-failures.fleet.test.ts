import { describe, expect, it } from 'vitest';
import { numbers } from '../support/fleet.ts';
import { until } from '../support/wait.ts';
import { holdingFleet } from './support/holding-fleet.ts';

const NOTICES = 2_000;

/** What fails a little, and says nothing about the next notice. */
describe('a service that fails a little', () => {
  const { start, hold, templateHolds, failedJobs } = holdingFleet();

  it.each([
    ['5 % of 500', { rate: 0.05, status: 500 }],
    ['2 % of 503 with Retry-After: 1', { rate: 0.02, status: 503, retryAfter: 1 }],
  ])(
    '%s at random: nothing is held, and all are accepted',
    async (_, fault) => {
      const on = await start(2, { BACKOFF_BASE_MS: '200', BACKOFF_CAP_MS: '1000' });
      const { emulator } = on;
      emulator.addFault({ on: 'send', seed: 7, ...fault });
      await on.sendEach(numbers(NOTICES));
      await until(() => emulator.record().distinct === NOTICES, {
        what: 'all accepted',
        deadlineMs: 90_000,
      });
      expect(emulator.faults()[0]?.fired).toBeGreaterThan((NOTICES * fault.rate) / 2);
      const events = on.workers.flatMap(({ lines }) => lines.map(({ event }) => event));
      for (const event of ['hold', 'template-held', 'worker-alone']) {
        expect(events).not.toContain(event);
      }
      expect(await hold(on)).toBeUndefined();
      expect(await templateHolds(on)).toEqual([]);
      expect(await failedJobs()).toBe(0);
      expect(emulator.record().twice).toBe(0);
    },
    120_000,
  );
});

import { describe, expect, it } from 'vitest';
import type { HoldKind } from '../../src/contracts/hold.ts';
import type { Fault } from '../../src/emulator/faults/fault.ts';
import { numbers } from '../support/fleet.ts';
import { until } from '../support/wait.ts';
import { holdingFleet } from './support/holding-fleet.ts';

describe('a fleet holds', () => {
  const { start, hold, jobsLeft } = holdingFleet();

  it.each<[HoldKind, Omit<Fault, 'on'>]>([
    ['credit', { status: 402 }],
    ['throttled', { status: 429, retryAfter: 1 }],
    ['address', { status: 302, headers: { location: 'https://example.invalid/' } }],
    ['credentials', { status: 403, code: 'IP_NOT_ALLOWED' }],
  ])(
    '%s: held, no attempt spent while it is held, resumed by a probe',
    async (kind, fault) => {
      const on = await start(2);
      const { emulator } = on;
      emulator.addFault({ on: 'send', ...fault });
      await on.sendEach(numbers(200));
      await until(async () => (await hold(on))?.kind === kind, { what: `a ${kind} hold` });
      const held = await hold(on);
      expect(held?.nextProbeAt).toBeGreaterThan(held?.since ?? Infinity);

      // While it is held only probes reach the service: one at a time, further and further apart.
      await until(async () => ((await hold(on))?.failedProbes ?? 0) >= 1, {
        what: 'a failed probe',
        deadlineMs: 20_000,
      });
      const jobs = await jobsLeft();
      // A page may be one notice's own fault, so the first ones are counted attempts.
      const most = kind === 'address' ? 2 : 0;
      expect(Math.max(...jobs.map(({ attemptsMade }) => attemptsMade))).toBeLessThanOrEqual(most);

      emulator.clearFaults();
      await until(() => emulator.record().distinct === 200, {
        what: 'everything sent',
        deadlineMs: 30_000,
      });
      expect(emulator.record().twice).toBe(0);
      expect(await until(async () => (await hold(on)) === undefined, { what: 'lifted' })).toBe(
        true,
      );
    },
    90_000,
  );
});

import { describe, expect, it } from 'vitest';
import type { HoldKind } from '../../src/contracts/hold.ts';
import type { Fault } from '../../src/emulator/faults/fault.ts';
import { numbers } from '../support/fleet.ts';
import { until } from '../support/wait.ts';
import { holdingFleet } from './support/holding-fleet.ts';

describe('a fleet holds', () => {
  const { start, hold, templateHolds, jobsLeft } = holdingFleet();

  const mostAttempts = async () =>
    Math.max(...(await jobsLeft()).map(({ attemptsMade }) => attemptsMade));

  it.each<[HoldKind, Omit<Fault, 'on'>]>([
    ['credit', { status: 402 }],
    ['throttled', { status: 429, retryAfter: 1 }],
    ['address', { status: 302, headers: { location: 'https://example.invalid/' } }],
    ['address', { status: 405, code: 'METHOD_NOT_ALLOWED' }],
    ['credentials', { status: 403, code: 'IP_NOT_ALLOWED' }],
  ])(
    '%s, by %o: held, no attempt spent while it is held, resumed by a probe',
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
      expect(await mostAttempts()).toBe(0);
      expect(await templateHolds(on)).toEqual([]);

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

  it.each<[HoldKind, string, Omit<Fault, 'on'>]>([
    ['template', 'TEMPLATE_NOT_APPROVED', { status: 404, code: 'TEMPLATE_NOT_APPROVED' }],
    ['credentials', 'SENDER_NOT_YOURS', { status: 403, code: 'SENDER_NOT_YOURS' }],
    [
      'address',
      'HTML_ANSWER',
      { status: 200, bodyText: '<html>', headers: { 'content-type': 'text/html' } },
    ],
  ])(
    'only the template that is answered alike, as %s with %s; another one is sent meanwhile',
    async (kind, code, fault) => {
      const on = await start(2);
      const { emulator } = on;
      emulator.addFault({ on: 'send', containing: 'FLEET', ...fault });
      await on.sendEach(numbers(200));
      await until(async () => (await templateHolds(on)).length > 0, { what: 'the hold' });
      expect(await templateHolds(on)).toMatchObject([{ template: 'FLEET', kind, code }]);
      await until(async () => ((await templateHolds(on))[0]?.rounds ?? 0) >= 2, {
        what: 'two rounds of probes',
        deadlineMs: 20_000,
      });

      const others = numbers(50, 50_000).map((contact) => ({ contact }));
      const sentAt = performance.now();
      await on.queue.sendMany(
        others.map((contact) => ({ templateCode: 'OTHER', contacts: [contact] })),
      );
      await until(() => emulator.record().distinct === 50, { what: 'the other template' });
      expect(performance.now() - sentAt).toBeLessThan(5_000);
      expect(await hold(on)).toBeUndefined();
      expect(await templateHolds(on)).toMatchObject([{ template: 'FLEET' }]);

      emulator.clearFaults();
      await until(() => emulator.record().distinct === 250, {
        what: 'everything sent',
        deadlineMs: 30_000,
      });
      expect(emulator.record().twice).toBe(0);
      await until(async () => (await templateHolds(on)).length === 0, { what: 'lifted' });
    },
    90_000,
  );
});

import type { Fault } from '../../../src/emulator/faults/fault.ts';
import { DOUBT_ROW } from '../../../src/fleet/hold/trouble.ts';
import type { Scenario } from '../support/scenario.ts';
import { CHUNK_SLOTS, NOTICE_SLOTS, OUTAGE_MS } from '../support/settings.ts';
import { PLAN } from '../support/plan.ts';

/** The slots of all workers; and what begins in each process before a row of failures makes it wait. */
const IN_FLIGHT = PLAN.processes * (CHUNK_SLOTS + NOTICE_SLOTS + DOUBT_ROW);

const outage = (
  name: string,
  hold: NonNullable<Scenario['hold']>,
  disturb: Scenario['disturb'],
  inDoubt = IN_FLIGHT,
): Scenario => ({ name, hold, disturb, inDoubt, bound: 'outage', plan: { seconds: 9 } });

const answers = (name: string, fault: Omit<Fault, 'on'>, inDoubt?: number) =>
  outage(name, 'failing', (stage) => stage.serviceFault(fault, OUTAGE_MS), inDoubt);

/** Outages that outlast all attempts: nothing is rejected, and possibly sent is what was in flight. */
export const OUTAGE_SCENARIOS: readonly Scenario[] = [
  {
    ...outage('a long outage: connections refused', 'unreachable', async (stage) => {
      const { service } = stage.proxies;
      await stage.fault();
      const unreachable = () => stage.lines(({ code }) => code === 'SERVICE_UNREACHABLE');
      const before = unreachable();
      await service.place({ kind: 'refuse' });
      service.resetAll();
      await stage.wait(OUTAGE_MS);
      await service.heal();
      stage.mended();
      return unreachable() - before;
    }),
    plan: { seconds: 9, service: 'all' },
  },
  answers('a long outage: 503', { status: 503 }),
  answers('a long outage: 500 after the service acted', {
    status: 500,
    afterActing: true,
  }),
  answers('a long outage: 503 with Retry-After', { status: 503, retryAfter: 1 }, 0),
];

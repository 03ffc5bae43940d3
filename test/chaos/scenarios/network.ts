import type { LinkFault } from '../../support/faulty-link.ts';
import type { LogLine } from '../../support/fleet.ts';
import { until } from '../../support/wait.ts';
import type { Plan } from '../support/plan.ts';
import type { Scenario } from '../support/scenario.ts';
import type { Stage } from '../support/stage.ts';

const isUnreachable = ({ code }: LogLine) => code === 'SERVICE_UNREACHABLE';

/** Places a fault between the workers and the service for so long. */
async function between(stage: Stage, fault: LinkFault, ms: number): Promise<number> {
  const { service } = stage.proxies;
  const before = service.struck;
  await stage.fault();
  await service.place(fault);
  await stage.wait(ms);
  await service.heal();
  stage.mended();
  return service.struck - before;
}

/**
 * The connections that stand are dead from now on; it counts the requests that go over one that was
 * kept. At-most-once must make none, for it makes one request on each: there it counts how many stood.
 */
async function deadAtOnce(stage: Stage, by: 'reset' | 'silence', ms: number): Promise<number> {
  const { service } = stage.proxies;
  await until(() => service.connections > 0, { what: 'a connection', deadlineMs: 5_000 });
  const stood = service.connections;
  const before = service.struckKept;
  await between(stage, { kind: 'stale', by }, ms);
  const met = service.struckKept - before;
  stage.onDead += met;
  return stage.load.delivery === 'at-most-once' ? stood : met;
}

const link = (name: string, fault: LinkFault, rest: Partial<Scenario> = {}): Scenario => ({
  name,
  bound: 'network',
  plan: { seconds: 9, service: 'all' },
  disturb: (stage) => between(stage, fault, 1_500),
  ...rest,
});

const cut = (
  name: string,
  direction: 'up' | 'down',
  bytes: number,
  by: 'reset' | 'end' = 'reset',
): Scenario => link(name, { kind: 'cut', direction, bytes, by, times: 60 });

const SERVICE: Partial<Plan> = { seconds: 9, service: 'all' };

/** The network between the workers and the service. */
export const NETWORK_SCENARIOS: readonly Scenario[] = [
  {
    name: 'connections to the service refused',
    bound: 'network',
    plan: SERVICE,
    disturb: async (stage) => {
      const { service } = stage.proxies;
      await stage.fault();
      const before = stage.lines(isUnreachable);
      await service.place({ kind: 'refuse' });
      service.resetAll();
      await stage.wait(1_500);
      await service.heal();
      stage.mended();
      return stage.lines(isUnreachable) - before;
    },
  },
  link('a black hole between workers and service', { kind: 'black-hole', after: 'dead' }),
  cut('connections reset before the request', 'up', 0),
  cut('connections reset during the request', 'up', 300),
  cut('connections reset after the request', 'down', 0),
  cut('connections reset within the answer', 'down', 40),
  cut('connections closed within the answer', 'down', 40, 'end'),
  link('half-closed connections', {
    kind: 'half-close',
    times: 60,
  }),
  {
    name: 'dead keep-alive connections',
    bound: 'network',
    plan: { ...SERVICE, seconds: 16 },
    disturb: async (stage) => {
      let struck = 0;
      for (let time = 0; time < 5; time++) {
        struck += await deadAtOnce(stage, 'reset', 300);
      }
      return struck;
    },
  },
  {
    name: 'silent keep-alive connections',
    bound: 'network',
    plan: SERVICE,
    disturb: (stage) => deadAtOnce(stage, 'silence', 500),
  },
  {
    name: 'latency between workers and service',
    bound: 'network',
    plan: SERVICE,
    disturb: async (stage) => {
      let struck = 0;
      for (const ms of [100, 400, 700]) {
        struck += await between(stage, { kind: 'delay', ms }, 700);
      }
      return struck;
    },
  },
];

import { expect, it } from 'vitest';
import { DELIVERY_POLICIES, type DeliveryPolicy } from '../../src/contracts/outcome.ts';
import type { LinkFault } from '../support/faulty-link.ts';
import { until } from '../support/wait.ts';
import { cut, during, link, refused, type Strike } from './support/faults.ts';
import { play, toPlay, type Scenario } from './support/scenario.ts';
import { AFTER_NETWORK } from './support/settings.ts';
import type { Stage } from './support/stage.ts';

const FAULT_MS = 1_500;
/** Twice as many as would do for one policy. */
const TIMES = 120;

const broken = (name: string, disturb: Scenario['disturb'], seconds = 9): Scenario => ({
  name,
  boundMs: AFTER_NETWORK,
  plan: { seconds, service: 'all' },
  disturb,
});
const alone = (
  delivery: DeliveryPolicy,
  name: string,
  disturb: Scenario['disturb'],
  seconds?: number,
): Scenario => {
  const scenario = broken(`${name}, ${delivery}`, disturb, seconds);
  return { ...scenario, plan: { ...scenario.plan, policies: [delivery] } };
};
const once = (name: string, strike: Strike) => broken(name, during(strike, FAULT_MS));
const ofService = (fault: LinkFault) => link('service', fault);

/**
 * The connections that stand are dead from now on; it counts the requests that go over one that was
 * kept. At-most-once must make none, for it makes one request on each: there it counts how many stood. So a policy is
 * alone with it.
 */
async function deadAtOnce(stage: Stage, by: 'reset' | 'silence', ms: number): Promise<number> {
  const { service } = stage.proxies;
  await until(() => service.connections > 0, { what: 'a connection', deadlineMs: 5_000 });
  const stood = service.connections;
  const before = service.struckKept;
  await during(ofService({ kind: 'stale', by }), ms)(stage);
  const met = service.struckKept - before;
  stage.onDead += met;
  return stage.loads.some(({ delivery }) => delivery === 'at-most-once') ? stood : met;
}

/** The network between the workers and the service. */
it.each(
  toPlay([
    once('connections to the service refused', refused),
    {
      ...once(
        'a black hole between workers and service',
        ofService({ kind: 'black-hole', after: 'dead' }),
      ),
      inShort: true,
    },
    once('connections reset before the request', cut('up', 0, 'reset', TIMES)),
    once('connections reset during the request', cut('up', 300, 'reset', TIMES)),
    once('connections reset after the request', cut('down', 0, 'reset', TIMES)),
    once('connections reset within the answer', cut('down', 40, 'reset', TIMES)),
    once('connections closed within the answer', cut('down', 40, 'end', TIMES)),
    once('half-closed connections', ofService({ kind: 'half-close', times: TIMES })),
    ...DELIVERY_POLICIES.flatMap((delivery) => [
      alone(
        delivery,
        'dead keep-alive connections',
        async (stage) => {
          let struck = 0;
          for (let time = 0; time < 5; time++) struck += await deadAtOnce(stage, 'reset', 300);
          return struck;
        },
        16,
      ),
      alone(delivery, 'silent keep-alive connections', (stage) =>
        deadAtOnce(stage, 'silence', 500),
      ),
    ]),
    broken('latency between workers and service', async (stage) => {
      let struck = 0;
      for (const ms of [100, 400, 700]) {
        struck += await during(ofService({ kind: 'delay', ms }), 700)(stage);
      }
      return struck;
    }),
  ]),
)('%s', async (_name, scenario) => {
  expect(await play(scenario)).toEqual([]);
});

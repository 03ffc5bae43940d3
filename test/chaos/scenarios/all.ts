import { DELIVERY_POLICIES, type DeliveryPolicy } from '../../../src/contracts/outcome.ts';
import type { Scenario } from '../support/scenario.ts';
import { BAD_NOTICE_SCENARIOS } from './bad-notices.ts';
import { NETWORK_SCENARIOS } from './network.ts';
import { REDIS_SCENARIOS } from './redis.ts';
import { ANSWER_SCENARIOS, TOKEN_SCENARIOS } from './service.ts';
import { WORKER_SCENARIOS } from './workers.ts';

/** Whether this run is the short form. */
export const IS_SHORT = process.env['CHAOS_SHORT'] === '1';

/** What the short form plays, of each kind one at least; and a wrong clock, and a storm on fewer contacts. */
const SHORT: ReadonlySet<string> = new Set([
  'workers killed in turn',
  'a worker frozen past its locks',
  'Redis killed',
  'answers to claim and settle lost',
  'a black hole between workers and service',
  '429 with seconds',
  'a foreign sender key',
  'a long outage: 500 after the service acted',
  'another issuer',
]);

const SCENARIOS: readonly Scenario[] = [
  ...WORKER_SCENARIOS,
  ...REDIS_SCENARIOS,
  ...NETWORK_SCENARIOS,
  ...ANSWER_SCENARIOS,
  ...BAD_NOTICE_SCENARIOS,
  ...TOKEN_SCENARIOS,
];

/**
 * What this run plays on a running fleet under a policy, one at a time, by name. The policies begin at opposite ends: two
 * files that start workers in place of killed ones at the same moment would measure how long that takes on few cores.
 */
export function scenariosUnder(delivery: DeliveryPolicy): [string, Scenario][] {
  const played = SCENARIOS.filter(({ name }) => !IS_SHORT || SHORT.has(name))
    .filter((_, index) => policiesOf(index).includes(delivery))
    .map((scenario): [string, Scenario] => [scenario.name, scenario]);
  return delivery === 'at-most-once' ? played.toReversed() : played;
}

/** The policies under which this run plays a scenario: one of them in the short form, in turn. */
export function policiesOf(scenario: number): readonly DeliveryPolicy[] {
  return DELIVERY_POLICIES.filter((_, policy) => !IS_SHORT || policy === scenario % 2);
}

import { DELIVERY_POLICIES, type DeliveryPolicy } from '../../../src/contracts/delivery.ts';
import { NETWORK_SCENARIOS } from '../scenarios/network.ts';
import { REDIS_SCENARIOS } from '../scenarios/redis.ts';
import { ANSWER_SCENARIOS, TOKEN_SCENARIOS } from '../scenarios/service.ts';
import { WORKER_SCENARIOS } from '../scenarios/workers.ts';
import type { Scenario } from './scenario.ts';

/** Whether this run is the short form: some scenarios of each kind, and a shorter storm. */
export const IS_SHORT = process.env['CHAOS_SHORT'] === '1';

/** Everything that is broken on a running fleet, one at a time. */
export const SCENARIOS: readonly Scenario[] = [
  ...WORKER_SCENARIOS,
  ...REDIS_SCENARIOS,
  ...NETWORK_SCENARIOS,
  ...ANSWER_SCENARIOS,
  ...TOKEN_SCENARIOS,
];

/** What this run plays under a policy. */
export function scenariosFor(delivery: DeliveryPolicy): Scenario[] {
  return SCENARIOS.filter(
    ({ policies = DELIVERY_POLICIES, short }) =>
      policies.includes(delivery) && (!IS_SHORT || short === true),
  );
}

import { DELIVERY_POLICIES, type DeliveryPolicy } from '../../../src/contracts/outcome.ts';
import { BAD_NOTICE_SCENARIOS } from '../scenarios/bad-notices.ts';
import { NETWORK_SCENARIOS } from '../scenarios/network.ts';
import { OUTAGE_SCENARIOS } from '../scenarios/outages.ts';
import { REDIS_SCENARIOS } from '../scenarios/redis.ts';
import { ANSWER_SCENARIOS, TOKEN_SCENARIOS } from '../scenarios/service.ts';
import { WORKER_SCENARIOS } from '../scenarios/workers.ts';
import type { Scenario } from './scenario.ts';

/** Whether this run is the short form. */
export const IS_SHORT = process.env['CHAOS_SHORT'] === '1';

/** What the short form plays, of each kind one at least; and a wrong clock, and a storm on fewer contacts. */
const SHORT: ReadonlySet<string> = new Set([
  'workers killed in turn',
  'a worker frozen past its locks',
  'Redis killed',
  'answers to claim and settle lost',
  'a black hole between workers and service',
  '429 with a date',
  'a foreign sender key',
  'a long outage: 500 after the service acted',
  'another issuer',
]);

/** Scenarios that have a file of their own, as the report names them. */
export const STALE_FAILOVER = 'a failover to a stale replica';
export const SYNCED_FAILOVER = 'a failover to a replica in sync';
export const CLOCK_AHEAD = 'a worker two minutes ahead';
export const CLOCK_BEHIND = 'a worker two minutes behind';
export const STORM = 'a storm on 40,000 contacts';

/** The scenarios by what they break, in the order of the report. */
export const CATALOGUE: readonly {
  readonly title: string;
  readonly scenarios: readonly (Scenario | Pick<Scenario, 'name' | 'breaks'>)[];
}[] = [
  { title: 'Workers', scenarios: WORKER_SCENARIOS },
  {
    title: 'Redis',
    scenarios: [
      ...REDIS_SCENARIOS,
      { name: SYNCED_FAILOVER, breaks: 'the master is killed, Sentinel promotes the replica' },
      {
        name: STALE_FAILOVER,
        breaks: 'replication stops for 3 s, then the master is killed and the replica promoted',
      },
    ],
  },
  { title: 'The network to the service', scenarios: NETWORK_SCENARIOS },
  { title: 'Answers of the service', scenarios: ANSWER_SCENARIOS },
  { title: 'Long outages of the service', scenarios: OUTAGE_SCENARIOS },
  { title: 'Bad notices among good ones', scenarios: BAD_NOTICE_SCENARIOS },
  { title: 'Tokens', scenarios: TOKEN_SCENARIOS },
  {
    title: 'Clocks',
    scenarios: [CLOCK_AHEAD, CLOCK_BEHIND].map((name) => ({
      name,
      breaks: 'one of two workers; tokens that expire, delayed notices, deadlines',
    })),
  },
  {
    title: 'Everything combined',
    scenarios: [{ name: STORM, breaks: 'a random fault every two seconds' }],
  },
];

/**
 * What this run plays on a running fleet under a policy, one at a time: every third one, from the place of the part on.
 * The policies begin at opposite ends: two files that start workers in place of killed ones at the same moment would
 * measure how long that takes on few cores.
 */
export function scenariosUnder(delivery: DeliveryPolicy, part: 1 | 2 | 3): Scenario[] {
  const ofPart = CATALOGUE.flatMap(({ scenarios }) => scenarios)
    .filter((scenario) => 'disturb' in scenario)
    .filter(({ name }) => !IS_SHORT || SHORT.has(name))
    .filter((_, index) => policiesOf(index).includes(delivery))
    .filter((_, index) => index % 3 === part - 1);
  return delivery === 'at-most-once' ? ofPart.toReversed() : ofPart;
}

/** The policies under which this run plays a scenario: one of them in the short form, in turn. */
export function policiesOf(scenario: number): readonly DeliveryPolicy[] {
  return DELIVERY_POLICIES.filter((_, policy) => !IS_SHORT || policy === scenario % 2);
}

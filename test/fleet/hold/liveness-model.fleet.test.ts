import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { DeliveryPolicy } from '../../../src/contracts/delivery.ts';
import { testRedis } from '../../support/redis.ts';
import { FleetModel, LOST_KEYS, type FleetCase, type FleetRun } from './support/fleet-model.ts';
import type { Trouble } from './support/service-answers.ts';
import { virtualTime, type Change } from './support/virtual-redis.ts';

const redis = testRedis();
let time: ReturnType<typeof virtualTime>;
beforeAll(() => {
  time = virtualTime();
});
afterAll(() => time.restore());

const OWN: readonly Trouble[] = ['a refusal', 'a page'];
const OF_ALL: readonly Trouble[] = [
  'a refusal',
  'a page',
  'no credit',
  'no connection',
  'a bad certificate',
  'an error',
  'no answer',
  'an error with Retry-After',
  'too many requests',
];

type Rest = Omit<FleetCase, 'trouble' | 'ownFault' | 'delivery'>;

const base = {
  crowd: fc.integer({ min: 0, max: 30 }),
  processes: fc.integer({ min: 1, max: 3 }),
  slots: fc.integer({ min: 1, max: 8 }),
  arrival: fc.integer({ min: 0, max: 30_000 }),
  endsAfter: fc.integer({ min: 0, max: 60_000 }),
  losses: fc.constant<FleetCase['losses']>([]),
  lostAnswers: fc.constant<number[]>([]),
  noHints: fc.constant<boolean>(false),
  seed: fc.nat(1_000_000),
};
const anyTrouble = fc.oneof(
  fc.record({ trouble: fc.constantFrom(...OWN), ownFault: fc.constant(true) }),
  fc.record({ trouble: fc.constantFrom(...OF_ALL), ownFault: fc.constant(false) }),
);
const quiet = fc.tuple(anyTrouble, fc.record<Rest>(base));
const faulty = fc.tuple(
  anyTrouble,
  fc.record<Rest>({
    ...base,
    losses: fc.array(
      fc.record({ after: fc.integer({ min: 0, max: 60_000 }), key: fc.constantFrom(...LOST_KEYS) }),
      { maxLength: 3 },
    ),
    killedProbe: fc.option(fc.nat(4), { nil: undefined }),
    lostAnswers: fc.array(fc.nat(200), { maxLength: 2 }),
    noHints: fc.boolean(),
  }),
);

async function play(one: FleetCase, change?: Change): Promise<FleetRun> {
  const model = new FleetModel(redis, one, change);
  return time.of(model.redis, () => model.run());
}

const faultsOf = ({
  waited,
  bound,
  unlawful,
  early,
  together,
  stuck,
  wronged,
  repeated,
}: FleetRun) => [
  ...(waited === undefined || waited > bound
    ? [`the good one waited ${waited} of ${bound} ms`]
    : []),
  ...Object.entries({ unlawful, early, together, stuck, wronged, repeated })
    .filter(([, count]) => count > 0)
    .map(([name, count]) => `${name}: ${count}`),
];

async function faultyCases(cases: readonly FleetCase[], change?: Change): Promise<string[]> {
  const runs = await Promise.all(cases.map((one) => play(one, change)));
  return runs.flatMap((run, at) => {
    const faults = faultsOf(run);
    return faults.length === 0 ? [] : [`${faults.join(', ')}: ${JSON.stringify(cases[at])}`];
  });
}

const drawn = (
  of: typeof quiet,
  count: number,
  seed: number,
  delivery: DeliveryPolicy = 'at-least-once',
): FleetCase[] =>
  fc
    .sample(of, { numRuns: count, seed })
    .map(([trouble, one]) => ({ ...trouble, ...one, delivery }));

const ofOwn = fc.record({ trouble: fc.constantFrom(...OWN), ownFault: fc.constant(true) });
/** More at fault than leave a probe to others. */
const many = {
  ...base,
  crowd: fc.constant(150),
  slots: fc.integer({ min: 2, max: 4 }),
};
const crowded = fc.tuple(ofOwn, fc.record<Rest>(many));
/** The good job has a lower priority than those at fault, or than most of them. */
const behind = fc.tuple(
  ofOwn,
  fc.record<Rest>({
    ...many,
    priorities: fc.constantFrom(
      { crowd: [0], good: 5 },
      { crowd: [1], good: 5 },
      { crowd: [1, 1, 1, 9], good: 5 },
    ),
  }),
);
/** What holds the queue is of a few of a higher priority alone, but no refusal: the others are not searched for. */
const few = fc.tuple(
  fc.record({
    trouble: fc.constantFrom<Trouble>(
      'no credit',
      'no connection',
      'an error',
      'no answer',
      'an error with Retry-After',
      'too many requests',
    ),
    ownFault: fc.constant(true),
  }),
  fc.record<Rest>({
    ...base,
    crowd: fc.integer({ min: 1, max: 3 }),
    priorities: fc.constant({ crowd: [1], good: 5 }),
  }),
);
/** Most of those at fault were never tried: the good one comes right before the hold. */
const soon = {
  ...many,
  processes: fc.constant(2),
  slots: fc.constant(16),
  arrival: fc.integer({ min: 1, max: 1_500 }),
};
const early = fc.tuple(ofOwn, fc.record<Rest>({ ...soon, slots: many.slots }));
const earlyBehind = fc.tuple(
  ofOwn,
  fc.record<Rest>({
    ...soon,
    crowd: fc.constant(300),
    priorities: fc.constantFrom({ crowd: [0], good: 0 }, { crowd: [1], good: 5 }),
  }),
);
/** New ones at fault come as fast as the probes. */
const more = fc.tuple(
  ofOwn,
  fc.record<Rest>({
    ...many,
    moreEvery: fc.constant(1_000),
    priorities: fc.constant({ crowd: [1], good: 5 }),
  }),
);

it.each<[string, typeof quiet, DeliveryPolicy, number]>([
  ['without faults', quiet, 'at-least-once', 40],
  ['with lost keys, answers, hints and workers', faulty, 'at-least-once', 40],
  ['at-most-once', quiet, 'at-most-once', 40],
  ['among many at fault', crowded, 'at-least-once', 4],
  ['among many at fault, at-most-once', crowded, 'at-most-once', 4],
  ['behind many at fault of a higher priority', behind, 'at-least-once', 6],
  ['behind many that were never tried', earlyBehind, 'at-least-once', 6],
  ['behind many of a higher priority, of which new ones come', more, 'at-least-once', 3],
  ['behind a few of a higher priority that hold the queue', few, 'at-least-once', 20],
  ['behind a few of a higher priority that hold it, at-most-once', few, 'at-most-once', 20],
])(
  'a good job is sent in time, probes keep their distance and none is stuck, %s',
  async (_, of, delivery, count) => {
    const seed = Number(process.env['NOTICES_SEED'] ?? 153_686);
    const found = await faultyCases(drawn(of, count, seed, delivery));
    expect(found, `seed ${seed}`).toEqual([]);
  },
  60_000,
);

const own = fc.tuple(
  ofOwn,
  fc.record<Rest>({ ...base, crowd: fc.constant(30), slots: fc.constant(2) }),
);
const killed = fc.tuple(
  fc.record({ trouble: fc.constant<Trouble>('no credit'), ownFault: fc.constant(false) }),
  fc.record<Rest>({ ...base, crowd: fc.constant(8), killedProbe: fc.constant(0) }),
);

it.each<[string, string, typeof quiet, Change, DeliveryPolicy?, number?]>([
  [
    'jobs that met the hold probe again first',
    'waited',
    own,
    ['not (other and other.refused)', 'true'],
  ],
  ['first in, first out', 'waited', own, ['newestIn(wait)', 'nil']],
  [
    'notices with a priority are not searched',
    'waited',
    behind,
    ['newestWithPriority(prioritized)', 'nil'],
    'at-least-once',
    2,
  ],
  [
    'only those of the last priority are searched',
    'waited',
    behind,
    ['for _ = 1, 16 do', 'for _ = 1, 1 do'],
    'at-least-once',
    2,
  ],
  [
    'only the newest few are searched for one that has not met the hold',
    'waited',
    early,
    ["LRANGE', list, 0, 255)", "LRANGE', list, 0, 15)"],
    'at-least-once',
    1,
  ],
  [
    'the probe is not kept for the job that was chosen',
    'waited',
    earlyBehind,
    ['if kept > 0 and', 'if false and'],
    'at-least-once',
    2,
  ],
  [
    'the oldest is never searched for',
    'waited',
    more,
    ['if turn % 5 == 0 then', 'if false then'],
    'at-least-once',
    1,
  ],
  [
    'a job that is sent at most once leaves each probe to those at fault',
    'waited',
    crowded,
    ['isRefused and 0 or tonumber(ARGV[4])', 'tonumber(ARGV[4])'],
    'at-most-once',
    1,
  ],
  [
    'a job that met what is stated for all leaves no probe to others',
    'waited',
    few,
    [' or met.held', ''],
  ],
  ['a probe whose worker died is not replaced', 'waited', killed, ['tonumber(ARGV[2])', '3600000']],
  ['every job probes', 'together', quiet, ["'NX', 'PX', ttl", "'PX', ttl"]],
  [
    'a failed probe does not move the next one',
    'early',
    quiet,
    ['math.max(nextProbeAt, now + math.ceil(forMs))', 'now'],
  ],
])(
  'notices when %s',
  async (_name, kind, of, change, delivery, count = 4) => {
    const found: string[] = [];
    for (let seed = 1; seed <= 10 && found.length === 0; seed++) {
      found.push(...(await faultyCases(drawn(of, count, seed, delivery), change)));
    }
    expect(found.join()).toContain(kind);
  },
  60_000,
);

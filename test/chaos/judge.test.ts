import { describe, expect, it } from 'vitest';
import { judge, type Evidence, type Fate } from './support/judge.ts';
import { brokenLaws, LAWS, type Promises, type Verdict } from './support/laws.ts';

const listed = ['b1', 'b2', 'b3'];
const notices = new Map([
  ['n1', 'c1'],
  ['n2', 'c2'],
]);
const bad = new Map([['x1', 'cx']]);
const counts = {
  total: 3,
  pending: 0,
  sending: 0,
  accepted: 3,
  rejected: 0,
  unknown: 0,
  expired: 0,
  cancelled: 0,
  possiblySentTwice: 0,
};
const record = (more: Readonly<Record<string, number>> = {}): ReadonlyMap<string, number> =>
  new Map(Object.entries({ b1: 1, b2: 1, b3: 1, c1: 1, c2: 1, ...more }));
const accepted = (job: string) => ({ event: 'attempt', job, outcome: 'accepted', requests: 1 });

/** Everything was accepted once; the bad notice was rejected. */
const GOOD: Evidence = {
  delivery: 'at-least-once',
  listed,
  spoiled: [],
  notices,
  bad,
  handedAt: new Map([
    ['c1', 1_000],
    ['c2', 1_000],
  ]),
  record: record(),
  acceptedAt: new Map([
    ['c1', 1_200],
    ['c2', 1_300],
  ]),
  issued: 1,
  invalidated: 0,
  status: {
    jobs: { waiting: 0, active: 0, delayed: 0, failed: 1 },
    possiblySentTwice: { notices: 0, chunks: 0 },
  },
  batch: counts,
  unknown: { notices: [], ofBatch: [] },
  metrics: { notices: 0, chunks: 0 },
  attempts: [
    accepted('n1'),
    accepted('n2'),
    { event: 'attempt', job: 'x1', outcome: 'rejected', requests: 1 },
  ],
  attemptsOfJob: 10,
  unknownResends: 2,
};

const jobs = GOOD.status.jobs;

/** The attempt at the chunk of the batch that made it unknown. @param possiblySent how often it was by then */
const unknownChunk = (possiblySent: number) => ({
  event: 'attempt',
  job: 'c-chaos-0',
  attempt: possiblySent,
  outcome: 'unknown',
  requests: 1,
  possiblySent,
});
const twiceSeen = (lane: 'notices' | 'chunks', count: number) => {
  const possiblySentTwice = { notices: 0, chunks: 0, [lane]: count };
  return { status: { jobs, possiblySentTwice }, metrics: possiblySentTwice };
};
const resent = (job: string) => [{ ...accepted(job), possiblySent: 1, attempt: 2 }];

/** What the scenarios add to a fate; all of it good. */
const REST: Omit<Verdict, keyof Fate> = {
  delivery: 'at-least-once',
  looks: 50,
  wrongSums: 0,
  forgotten: 0,
  faults: 1,
  strikes: 1,
  onDead: 0,
  late: 0,
  fallen: 0,
  mostCommands: 500,
  recoveriesMs: [900],
  longestGapMs: 0,
  holds: new Set(['credit']),
};

const brokenBy = (
  by: Partial<Evidence>,
  rest: Partial<Verdict> = {},
  promises: Promises = { exactTokens: true, waitMs: 1_000, inDoubt: 1 },
) => {
  const evidence = { ...GOOD, ...by };
  const { delivery } = evidence;
  return brokenLaws(
    { ...REST, delivery, ...judge(evidence), ...rest },
    { boundMs: 1_000, hold: 'credit', ...promises },
  ).map((law) => law.slice(0, law.lastIndexOf(': ')));
};

const unknownAttempt = { event: 'attempt', job: 'n1', outcome: 'unknown', requests: 1 };

interface Wrong {
  readonly what: string;
  readonly by?: Partial<Evidence>;
  /** What the scenario itself saw. */
  readonly rest?: Partial<Verdict>;
  readonly promises?: Promises;
  readonly law: RegExp;
  readonly also?: RegExp;
}

const WRONG: readonly Wrong[] = [
  { what: 'a contact in no state', by: { batch: { ...counts, accepted: 2 } }, law: /counts every/ },
  {
    what: 'a notice in no place',
    by: { record: new Map([...record()].slice(0, 4)), attempts: [accepted('n1')] },
    law: /nothing is lost/,
  },
  {
    what: 'a contact of the batch in no place',
    by: {
      delivery: 'at-most-once',
      record: new Map([...record()].slice(1)),
      batch: { ...counts, accepted: 2, unknown: 1 },
      unknown: { notices: [], ofBatch: ['b2'] },
    },
    law: /nothing is lost/,
  },
  {
    what: 'at-most-once: a duplicate',
    by: { delivery: 'at-most-once', record: record({ c1: 2 }) },
    law: /at-most-once: nobody/,
  },
  {
    what: 'at-most-once: a counted resend',
    by: { delivery: 'at-most-once', ...twiceSeen('chunks', 1) },
    law: /at-most-once: nobody/,
  },
  {
    what: 'an uncounted duplicate of a notice',
    by: { record: record({ c1: 2 }), attempts: resent('n1') },
    law: /every duplicate is counted/,
  },
  {
    what: 'a duplicate of a notice that is counted in the other lane',
    by: { record: record({ c1: 2 }), attempts: resent('n1'), ...twiceSeen('chunks', 1) },
    law: /every duplicate is counted/,
  },
  {
    what: 'a third acceptance that is not counted',
    by: { record: record({ c1: 3 }), attempts: resent('n1'), ...twiceSeen('notices', 1) },
    law: /every duplicate is counted/,
  },
  {
    what: 'a duplicate of the batch that only the batch counts',
    by: { record: record({ b1: 2 }), batch: { ...counts, possiblySentTwice: 1 } },
    law: /every duplicate is counted/,
  },
  {
    what: 'a duplicate of the batch that only the status counts',
    by: { record: record({ b1: 2 }), ...twiceSeen('chunks', 1) },
    law: /every duplicate is counted/,
  },
  {
    what: 'a duplicate that is not in the log',
    by: { record: record({ c1: 2 }), ...twiceSeen('notices', 1) },
    law: /named in the log/,
  },
  {
    what: 'a duplicate whose log names another one',
    by: { record: record({ c1: 2 }), attempts: resent('n2'), ...twiceSeen('notices', 1) },
    law: /named in the log/,
  },
  {
    what: 'an unknown notice with resends left',
    by: {
      record: new Map([...record()].slice(0, 4)),
      attempts: [accepted('n1')],
      status: { ...GOOD.status, jobs: { ...jobs, failed: 2 } },
      unknown: { notices: [{ id: 'n2', possiblySent: 2 }], ofBatch: [] },
    },
    law: /nothing is set aside/,
  },
  {
    what: 'an unknown contact of the batch with resends left',
    by: {
      record: new Map([...record()].slice(1)),
      batch: { ...counts, accepted: 2, unknown: 1 },
      unknown: { notices: [], ofBatch: ['b1'] },
      attempts: [...GOOD.attempts, unknownChunk(2)],
    },
    law: /nothing is set aside/,
  },
  {
    what: 'a notice that was taken once more than it may be sent',
    by: { record: record({ c1: 4 }), attempts: resent('n1'), ...twiceSeen('notices', 3) },
    law: /takes a contact/,
  },
  {
    what: 'a contact of the batch that was taken once more than it may be sent',
    by: {
      record: record({ b1: 4 }),
      batch: { ...counts, possiblySentTwice: 3 },
      ...twiceSeen('chunks', 3),
    },
    law: /takes a contact/,
  },
  {
    what: 'a spoiled contact that was accepted',
    by: { spoiled: ['b2'] },
    law: /another state/,
    also: /refuses for itself/,
  },
  {
    what: 'a good contact that was rejected beside a spoiled one',
    by: {
      spoiled: ['b2'],
      record: new Map([...record()].filter(([contact]) => contact !== 'b2')),
      batch: { ...counts, accepted: 1, rejected: 2 },
    },
    law: /another state/,
  },
  {
    what: 'metrics of another number',
    by: { metrics: { notices: 1, chunks: 0 } },
    law: /report the same/,
  },
  {
    what: 'an accepted notice that the service does not know',
    by: {
      record: new Map([...record()].slice(0, 4)),
      status: { ...GOOD.status, jobs: { ...jobs, failed: 2 } },
      unknown: { notices: [{ id: 'n2', possiblySent: 3 }], ofBatch: [] },
    },
    law: /what counts as accepted/,
  },
  {
    what: 'an accepted contact of the batch that the service does not know',
    by: { record: new Map([...record()].slice(1)) },
    law: /nothing is lost/,
    also: /what counts as accepted/,
  },
  {
    what: 'a rejected good notice',
    by: { bad: new Map() },
    law: /another state/,
  },
  {
    what: 'a notice that waits',
    by: { status: { ...GOOD.status, jobs: { ...jobs, delayed: 1 } } },
    law: /another state/,
  },
  {
    what: 'an expired notice',
    by: { attempts: [accepted('n1'), { ...accepted('n2'), outcome: 'expired' }] },
    law: /another state/,
  },
  { what: 'an accepted bad notice', by: { record: record({ cx: 1 }) }, law: /refuses for itself/ },
  {
    what: 'a bad notice that did not fail',
    by: { status: { ...GOOD.status, jobs: { ...jobs, failed: 0 } } },
    law: /refuses for itself/,
  },
  {
    what: 'a good notice that failed beside the bad one',
    by: { status: { ...GOOD.status, jobs: { ...jobs, failed: 2 } } },
    law: /refuses for itself/,
  },
  {
    what: 'a good notice that waited',
    by: { acceptedAt: new Map([...GOOD.acceptedAt, ['c2', 2_001]]) },
    law: /good notices/,
  },
  {
    what: 'a job with too many requests',
    by: { attempts: Array.from({ length: 12 }, () => ({ ...accepted('n1'), requests: 2 })) },
    law: /requests of a notice/,
  },
  {
    what: 'two attempts in doubt where one was in flight',
    by: { attempts: [unknownAttempt, unknownAttempt] },
    law: /possibly sent is at most/,
  },
  {
    what: 'a hold in effect',
    by: {
      status: {
        ...GOOD.status,
        hold: { kind: 'credit' } as NonNullable<Evidence['status']['hold']>,
      },
    },
    law: /no hold is left/,
  },
  { what: 'a token too much', by: { issued: 2 }, law: /no issuance is disturbed/ },
  {
    what: 'tokens beyond what its faults explain',
    by: { issued: 5, invalidated: 1 },
    promises: {},
    law: /2 x faults/,
  },
  { what: 'faults that struck nothing', rest: { strikes: 0 }, law: /faults struck/ },
  { what: 'no faults', rest: { faults: 0 }, law: /faults struck/ },
  { what: 'a wrong sum meanwhile', rest: { wrongSums: 1 }, law: /at every look/ },
  { what: 'too few looks', rest: { looks: 3 }, law: /at every look/ },
  {
    what: 'at-most-once: a request on a connection that died',
    by: { delivery: 'at-most-once' },
    rest: { onDead: 1 },
    law: /kept and died/,
  },
  { what: 'a wait that is no number', rest: { longestWaitMs: NaN }, law: /good notices/ },
  { what: 'a send after its lock', rest: { late: 1 }, law: /lost its lock/ },
  { what: 'a fallen worker', rest: { fallen: 1 }, law: /no worker falls/ },
  { what: 'many commands', rest: { mostCommands: 501 }, law: /so many commands/ },
  { what: 'no commands counted', rest: { mostCommands: NaN }, law: /so many commands/ },
  { what: 'a late recovery', rest: { recoveriesMs: [900, 1_001] }, law: /within its bound/ },
  { what: 'no recovery', rest: { recoveriesMs: [Infinity] }, law: /within its bound/ },
  { what: 'no recovery measured', rest: { recoveriesMs: [] }, law: /within its bound/ },
  { what: 'another hold', rest: { holds: new Set(['address']) }, law: /hold is named/ },
  {
    what: 'an attempt spent by what is harmless',
    rest: { repeated: 1 },
    promises: { harmless: true },
    law: /harmless/,
  },
  {
    what: 'a doubt left by what is harmless',
    by: { delivery: 'at-most-once' },
    rest: { unknown: 1 },
    promises: { harmless: true },
    law: /harmless/,
  },
];

describe('the judge', () => {
  it.each(WRONG)('finds $what', ({ by = {}, rest, promises, law, also }) => {
    const laws = also === undefined ? [law] : [law, also];
    const broken = brokenBy(by, rest, promises);
    expect(broken).toHaveLength(laws.length);
    for (const [at, one] of laws.entries()) expect(broken[at]).toMatch(one);
  });

  it('has a row for each law', () => {
    const patterns = WRONG.flatMap(({ law, also }) => [law, also ?? law]);
    const covered = LAWS.filter(({ name }) => patterns.some((pattern) => pattern.test(name)));
    expect(covered).toEqual(LAWS);
  });

  it('allows what Redis itself has forgotten', () => {
    const forgetful = { twice: 5, mostTaken: 4, forgotten: 5 };
    expect(brokenBy({ delivery: 'at-most-once' }, forgetful)).toEqual([]);
    expect(brokenBy({}, { ...forgetful, uncounted: 5, unnamed: 5 })).toEqual([]);
    // One attempt at each contact, not five at one of them.
    expect(brokenBy({}, { ...forgetful, mostTaken: 5 })).toHaveLength(1);
  });

  const withoutB2 = new Map([...record()].filter(([contact]) => contact !== 'b2'));
  it.each<[string, Partial<Evidence>]>([
    ['a good run', {}],
    ['a good run, at-most-once', { delivery: 'at-most-once' }],
    [
      'a duplicate that is counted in its lane and named',
      { record: record({ c1: 2 }), attempts: resent('n1'), ...twiceSeen('notices', 1) },
    ],
    [
      'the same of the batch',
      {
        record: record({ b1: 3 }),
        batch: { ...counts, possiblySentTwice: 2 },
        ...twiceSeen('chunks', 2),
      },
    ],
    [
      'unknown notices that were sent as often as allowed',
      {
        status: { ...GOOD.status, jobs: { ...jobs, failed: 2 } },
        unknown: { notices: [{ id: 'n2', possiblySent: 3 }], ofBatch: [] },
      },
    ],
    [
      'unknown contacts of the batch that were sent as often as allowed',
      {
        record: new Map([...record()].slice(1)),
        batch: { ...counts, accepted: 2, unknown: 1 },
        unknown: { notices: [], ofBatch: ['b1'] },
        attempts: [...GOOD.attempts, unknownChunk(3)],
      },
    ],
    [
      'spoiled contacts that were rejected',
      { spoiled: ['b2'], record: withoutB2, batch: { ...counts, accepted: 2, rejected: 1 } },
    ],
    [
      'spoiled contacts that are unknown after a lost answer',
      {
        spoiled: ['b2'],
        record: withoutB2,
        batch: { ...counts, accepted: 2, unknown: 1 },
        unknown: { notices: [], ofBatch: ['b2'] },
      },
    ],
    [
      'the requests of probes',
      { attempts: Array.from({ length: 30 }, () => ({ ...unknownAttempt, probe: true })) },
    ],
  ])('accepts %s', (_, by) => {
    expect(brokenBy(by)).toEqual([]);
  });
});

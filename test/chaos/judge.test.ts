import { describe, expect, it } from 'vitest';
import { tellApart, type Part, type Whole } from './support/apart.ts';
import { judge, type Evidence, type Fate } from './support/judge.ts';
import { brokenLaws, LAWS, type Promises, type Verdict } from './support/laws.ts';

type Counts = Readonly<Record<string, number>>;

const ALL: Counts = { b1: 1, b2: 1, b3: 1, c1: 1, c2: 1 };
/** The record of the service, where contacts were taken so often. */
const record = (times: Counts = {}): Pick<Evidence, 'record'> => ({
  record: new Map(Object.entries({ ...ALL, ...times }).filter(([, count]) => count > 0)),
});
const COUNTS: Evidence['batch'] = {
  total: 3,
  pending: 0,
  sending: 0,
  accepted: 3,
  rejected: 0,
  unknown: 0,
  expired: 0,
  cancelled: 0,
  suppressed: 0,
  possiblySentTwice: 0,
};
const batch = (counts: Partial<Evidence['batch']>) => ({ batch: { ...COUNTS, ...counts } });
const JOBS = { waiting: 0, active: 0, delayed: 0, failed: 1 };
const NONE_TWICE = { notices: 0, chunks: 0 };
const jobs = (counts: Partial<typeof JOBS>): Pick<Evidence, 'status'> => ({
  status: { jobs: { ...JOBS, ...counts }, possiblySentTwice: NONE_TWICE },
});
/** A notice or a contact of the batch that is listed as unknown. */
const unknownNotice = (possiblySent: number) => ({
  ...jobs({ failed: 2 }),
  unknown: { notices: [{ id: 'n2', possiblySent }], ofBatch: [] },
});
const unknownOfBatch = (contact: string) => ({
  ...batch({ accepted: 2, unknown: 1 }),
  unknown: { notices: [], ofBatch: [contact] },
});
const twiceSeen = (lane: 'notices' | 'chunks', count: number) => {
  const possiblySentTwice = { ...NONE_TWICE, [lane]: count };
  return { status: { jobs: JOBS, possiblySentTwice }, metrics: possiblySentTwice };
};
const attempt = (job: string, more: object = {}) => ({
  event: 'attempt',
  job,
  outcome: 'accepted',
  requests: 1,
  ...more,
});
const resent = (job: string) => ({ attempts: [attempt(job, { possiblySent: 1, attempt: 2 })] });
const unknownAttempt = attempt('n1', { outcome: 'unknown' });
/** The attempt at the chunk of the batch that made it unknown. @param possiblySent how often it was by then */
const unknownChunk = (possiblySent: number) =>
  attempt('c-at-least-once-0', { outcome: 'unknown', attempt: possiblySent, possiblySent });

/** Everything was accepted once; the bad notice was rejected. */
const GOOD: Evidence = {
  delivery: 'at-least-once',
  listed: ['b1', 'b2', 'b3'],
  spoiled: [],
  notices: new Map(Object.entries({ n1: 'c1', n2: 'c2' })),
  bad: new Map([['x1', 'cx']]),
  others: new Map(),
  seen: { looks: 50, wrongSums: 0, underWay: 6 },
  handedAt: new Map(Object.entries({ c1: 1_000, c2: 1_000 })),
  ...record(),
  acceptedAt: new Map(Object.entries({ c1: 1_200, c2: 1_300 })),
  issued: 1,
  invalidated: 0,
  ...jobs({}),
  ...batch({}),
  unknown: { notices: [], ofBatch: [] },
  metrics: NONE_TWICE,
  attempts: [attempt('n1'), attempt('n2'), attempt('x1', { outcome: 'rejected' })],
  attemptsOfJob: 10,
  unknownResends: 2,
};
const ONCE = { delivery: 'at-most-once' } as const;
const FIRST_ACCEPTED = { attempts: [attempt('n1')] };
const HARMLESS: Promises = { harmless: true };

/** What the stage adds to a fate; all of it good. */
const REST: Omit<Verdict, keyof Fate> = {
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
  promises: Promises = { exactTokens: true, waitMs: 1_000, mostInDoubt: 1 },
) => {
  const verdict = { ...REST, ...judge({ ...GOOD, ...by }), ...rest };
  return brokenLaws(verdict, { boundMs: 1_000, hold: 'credit', ...promises }).map((law) =>
    law.slice(0, law.lastIndexOf(': ')),
  );
};

/** What is wrong: the laws that it breaks, the evidence, and what the stage saw. */
type Wrong = readonly [
  what: string,
  laws: RegExp | readonly RegExp[],
  by: Partial<Evidence>,
  rest?: Partial<Verdict>,
  promises?: Promises,
];

const COUNTED = /every duplicate is counted/;
const ANOTHER_STATE = /another state/;
const FOR_ITSELF = /refuses for itself/;
const PHANTOM = /what counts as accepted/;

const WRONG: readonly Wrong[] = [
  ['a contact in no state', /counts every/, batch({ accepted: 2 })],
  ['a notice in no place', /nothing is lost/, { ...record({ c2: 0 }), ...FIRST_ACCEPTED }],
  [
    'a contact of the batch in no place',
    /nothing is lost/,
    { ...ONCE, ...record({ b1: 0 }), ...unknownOfBatch('b2') },
  ],
  ['at-most-once: a duplicate', /at-most-once: nobody/, { ...ONCE, ...record({ c1: 2 }) }],
  [
    'at-most-once: a counted resend',
    /at-most-once: nobody/,
    { ...ONCE, ...twiceSeen('chunks', 1) },
  ],
  ['an uncounted duplicate of a notice', COUNTED, { ...record({ c1: 2 }), ...resent('n1') }],
  [
    'a duplicate of a notice that is counted in the other lane',
    COUNTED,
    { ...record({ c1: 2 }), ...resent('n1'), ...twiceSeen('chunks', 1) },
  ],
  [
    'a third acceptance that is not counted',
    COUNTED,
    { ...record({ c1: 3 }), ...resent('n1'), ...twiceSeen('notices', 1) },
  ],
  [
    'a duplicate of the batch that only the batch counts',
    COUNTED,
    { ...record({ b1: 2 }), ...batch({ possiblySentTwice: 1 }) },
  ],
  [
    'a duplicate of the batch that only the status counts',
    COUNTED,
    { ...record({ b1: 2 }), ...twiceSeen('chunks', 1) },
  ],
  [
    'a duplicate that is not in the log',
    /named in the log/,
    { ...record({ c1: 2 }), ...twiceSeen('notices', 1) },
  ],
  [
    'a duplicate whose log names another one',
    /named in the log/,
    { ...record({ c1: 2 }), ...resent('n2'), ...twiceSeen('notices', 1) },
  ],
  [
    'an unknown notice with resends left',
    /nothing is set aside/,
    { ...record({ c2: 0 }), ...FIRST_ACCEPTED, ...unknownNotice(2) },
  ],
  [
    'an unknown contact of the batch with resends left',
    /nothing is set aside/,
    {
      ...record({ b1: 0 }),
      ...unknownOfBatch('b1'),
      attempts: [...GOOD.attempts, unknownChunk(2)],
    },
  ],
  [
    'a notice that was taken once more than it may be sent',
    /takes a contact/,
    { ...record({ c1: 4 }), ...resent('n1'), ...twiceSeen('notices', 3) },
  ],
  [
    'a contact of the batch that was taken once more than it may be sent',
    /takes a contact/,
    { ...record({ b1: 4 }), ...batch({ possiblySentTwice: 3 }), ...twiceSeen('chunks', 3) },
  ],
  ['a spoiled contact that was accepted', [ANOTHER_STATE, FOR_ITSELF], { spoiled: ['b2'] }],
  [
    'a good contact that was rejected beside a spoiled one',
    ANOTHER_STATE,
    { spoiled: ['b2'], ...record({ b2: 0 }), ...batch({ accepted: 1, rejected: 2 }) },
  ],
  ['metrics of another number', /report the same/, { metrics: { notices: 1, chunks: 0 } }],
  [
    'an accepted notice that the service does not know',
    PHANTOM,
    { ...record({ c2: 0 }), ...unknownNotice(3) },
  ],
  [
    'an accepted contact of the batch that the service does not know',
    [/nothing is lost/, PHANTOM],
    record({ b1: 0 }),
  ],
  ['a rejected good notice', ANOTHER_STATE, { bad: new Map() }],
  ['a notice that waits', ANOTHER_STATE, jobs({ delayed: 1 })],
  [
    'an expired notice',
    ANOTHER_STATE,
    { attempts: [attempt('n1'), attempt('n2', { outcome: 'expired' })] },
  ],
  ['an accepted bad notice', FOR_ITSELF, record({ cx: 1 })],
  ['a bad notice that did not fail', FOR_ITSELF, jobs({ failed: 0 })],
  ['a good notice that failed beside the bad one', FOR_ITSELF, jobs({ failed: 2 })],
  [
    'a good notice that waited',
    /good notices/,
    { acceptedAt: new Map([...GOOD.acceptedAt, ['c2', 2_001]]) },
  ],
  [
    'a job with too many requests',
    /requests of a notice/,
    { attempts: Array.from({ length: 12 }, () => attempt('n1', { requests: 2 })) },
  ],
  [
    'two attempts in doubt where one was in flight',
    /possibly sent is at most/,
    { attempts: [unknownAttempt, unknownAttempt] },
  ],
  ['a hold in effect', /no hold is left/, {}, { holdLeft: true }],
  ['a token too much', /no issuance is disturbed/, { issued: 2 }],
  ['tokens beyond what its faults explain', /2 x faults/, { issued: 5, invalidated: 1 }, {}, {}],
  ['faults that struck nothing', /faults struck/, {}, { strikes: 0 }],
  ['faults that met no job of this policy', /faults struck/, {}, { underWay: 0 }],
  ['no faults', /faults struck/, {}, { faults: 0 }],
  ['a wrong sum meanwhile', /at every look/, {}, { wrongSums: 1 }],
  ['too few looks', /at every look/, {}, { looks: 3 }],
  ['at-most-once: a request on a connection that died', /kept and died/, ONCE, { onDead: 1 }],
  ['a wait that is no number', /good notices/, {}, { longestWaitMs: NaN }],
  ['a send after its lock', /lost its lock/, {}, { late: 1 }],
  ['a fallen worker', /no worker falls/, {}, { fallen: 1 }],
  ['many commands', /so many commands/, {}, { mostCommands: 501 }],
  ['no commands counted', /so many commands/, {}, { mostCommands: NaN }],
  ['a late recovery', /within its bound/, {}, { recoveriesMs: [900, 1_001] }],
  ['no recovery', /within its bound/, {}, { recoveriesMs: [Infinity] }],
  ['no recovery measured', /within its bound/, {}, { recoveriesMs: [] }],
  ['another hold', /hold is named/, {}, { holds: new Set(['address']) }],
  ['an attempt spent by what is harmless', /harmless/, {}, { repeated: 1 }, HARMLESS],
  ['a doubt left by what is harmless', /harmless/, ONCE, { unknown: 1 }, HARMLESS],
];

describe('the judge', () => {
  it.each(WRONG.map((row): [string, Wrong] => [row[0], row]))('finds %s', (_what, row) => {
    const [, laws, by, rest, promises] = row;
    const broken = brokenBy(by, rest, promises);
    expect(broken).toEqual([laws].flat().map((law) => expect.stringMatching(law) as unknown));
  });

  it('has a row for each law', () => {
    const patterns = WRONG.flatMap(([, laws]) => laws);
    const covered = LAWS.filter(([name]) => patterns.some((pattern) => pattern.test(name)));
    expect(covered).toEqual(LAWS);
  });

  it('sees a hold that is left', () => {
    const hold = { kind: 'credit' } as NonNullable<Evidence['status']['hold']>;
    expect(judge({ ...GOOD, status: { ...GOOD.status, hold } }).holdLeft).toBe(true);
  });

  it('allows what Redis itself has forgotten', () => {
    const forgetful = { twice: 5, mostTaken: 4, forgotten: 5 };
    expect(brokenBy(ONCE, forgetful)).toEqual([]);
    expect(brokenBy({}, { ...forgetful, uncounted: 5, unnamed: 5 })).toEqual([]);
    // One attempt at each contact, not five at one of them.
    expect(brokenBy({}, { ...forgetful, mostTaken: 5 })).toHaveLength(1);
  });

  it.each<[string, Partial<Evidence>]>([
    ['a good run', {}],
    ['a good run, at-most-once', ONCE],
    [
      'a duplicate that is counted in its lane and named',
      { ...record({ c1: 2 }), ...resent('n1'), ...twiceSeen('notices', 1) },
    ],
    [
      'the same of the batch',
      { ...record({ b1: 3 }), ...batch({ possiblySentTwice: 2 }), ...twiceSeen('chunks', 2) },
    ],
    [
      'unknown notices that were sent as often as allowed',
      { ...record({ c2: 1 }), ...unknownNotice(3) },
    ],
    [
      'unknown contacts of the batch that were sent as often as allowed',
      {
        ...record({ b1: 0 }),
        ...unknownOfBatch('b1'),
        attempts: [...GOOD.attempts, unknownChunk(3)],
      },
    ],
    [
      'spoiled contacts that were rejected',
      { spoiled: ['b2'], ...record({ b2: 0 }), ...batch({ accepted: 2, rejected: 1 }) },
    ],
    [
      'spoiled contacts that are unknown after a lost answer',
      { spoiled: ['b2'], ...record({ b2: 0 }), ...unknownOfBatch('b2') },
    ],
    [
      'the requests of probes',
      { attempts: Array.from({ length: 30 }, () => ({ ...unknownAttempt, probe: true })) },
    ],
  ])('accepts %s', (_, by) => {
    expect(brokenBy(by)).toEqual([]);
  });
});

const { delivery, listed, spoiled, notices, bad, others, handedAt, seen, ...WHAT_IS_SEEN } = GOOD;
const HANDED = { delivery, listed, spoiled, notices, bad, others, handedAt, seen };
/** GOOD for both policies; what is of at-most-once begins with "o". */
const ofOnce = (name: string) => `o${name}`;
const renamed = <Value>(entries: ReadonlyMap<string, Value>, to: (value: Value) => Value) =>
  new Map([...entries].map(([name, value]) => [ofOnce(name), to(value)]));
const PARTS: readonly Part[] = [
  { load: HANDED, batch: COUNTS, unknownOfBatch: [] },
  {
    load: {
      ...HANDED,
      ...ONCE,
      listed: listed.map(ofOnce),
      notices: renamed(notices, ofOnce),
      bad: renamed(bad, ofOnce),
      handedAt: renamed(handedAt, (at) => at),
    },
    batch: COUNTS,
    unknownOfBatch: [],
  },
];
const rejectedOnce = (id: string) => ({ id, state: 'rejected', possiblySent: 0 });
const WHOLE: Whole = {
  ...WHAT_IS_SEEN,
  ...jobs({ failed: 2 }),
  record: new Map([...GOOD.record, ...renamed(GOOD.record, (count) => count)]),
  acceptedAt: new Map([...GOOD.acceptedAt, ...renamed(GOOD.acceptedAt, (at) => at)]),
  failures: ['x1', 'ox1'].map(rejectedOnce),
  attempts: GOOD.attempts.flatMap((line) => [line, { ...line, job: ofOnce(String(line['job'])) }]),
};
const taken = (contact: string, count: number) => ({
  record: new Map([...WHOLE.record, [contact, count]]),
});
const logged = (...lines: Evidence['attempts']) => ({ attempts: [...WHOLE.attempts, ...lines] });
const counted = (lane: 'notices' | 'chunks', count: number) => {
  const { status, metrics } = twiceSeen(lane, count);
  return { status: { ...status, jobs: { ...JOBS, failed: 2 } }, metrics };
};
const RESENT_ONCE = attempt('on1', { possiblySent: 1, attempt: 2 });
const NAMED = /named in the log/;
const NOBODY = /at-most-once: nobody/;

describe('the evidence of two policies', () => {
  it.each<[string, Partial<Whole>, RegExp[], RegExp[], possiblySentTwice?: [number, number]]>([
    ['a good run', {}, [], []],
    [
      'a duplicate at-least-once, counted and named',
      { ...taken('c1', 2), ...counted('notices', 1), ...logged(...resent('n1').attempts) },
      [],
      [],
    ],
    ['the same of the batch', { ...taken('b1', 2), ...counted('chunks', 1) }, [], [], [1, 0]],
    [
      'an unknown notice at-most-once',
      logged(attempt('on1', { outcome: 'unknown', possiblySent: 1 })),
      [],
      [],
    ],
    ['a duplicate at-most-once', taken('oc1', 2), [], [NOBODY]],
    ['a resend at-most-once', { ...counted('notices', 1), ...logged(RESENT_ONCE) }, [], [NOBODY]],
    [
      'a duplicate at-least-once beside a counted resend at-most-once',
      { ...taken('c1', 2), ...counted('notices', 1), ...logged(RESENT_ONCE) },
      [COUNTED, NAMED],
      [NOBODY],
    ],
    [
      'a duplicate of a batch that the other batch counts',
      { ...taken('b1', 2), ...counted('chunks', 1) },
      [COUNTED],
      [NOBODY],
      [0, 1],
    ],
    [
      'a duplicate of a batch that the status does not count',
      taken('b1', 2),
      [COUNTED],
      [],
      [1, 0],
    ],
    [
      'the same beside a duplicate at-most-once',
      { record: new Map([...WHOLE.record, ['b1', 2], ['oc1', 2]]) },
      [COUNTED],
      [NOBODY],
      [1, 0],
    ],
    ['a resend of a batch at-most-once', counted('chunks', 1), [], [NOBODY]],
    ['a contact of no load, taken twice', taken('z', 2), [COUNTED, NAMED], [NOBODY]],
    [
      'a rejected good notice at-most-once',
      { ...jobs({ failed: 3 }), failures: [...WHOLE.failures, rejectedOnce('on1')] },
      [],
      [FOR_ITSELF],
    ],
    ['a failed job that is not listed', jobs({ failed: 3 }), [FOR_ITSELF], [FOR_ITSELF]],
    ['metrics of another number', { metrics: { notices: 0, chunks: 1 } }, [/same/], [/same/]],
    [
      'too many requests of a chunk at-most-once',
      logged(attempt('c-at-most-once-0', { requests: 24 })),
      [],
      [/requests of a notice/],
    ],
  ])('is told apart: %s', (_, by, ofLeast, ofMost, [least, most] = [0, 0]) => {
    const parts = PARTS.map((part, at) => ({
      ...part,
      batch: { ...COUNTS, possiblySentTwice: at === 0 ? least : most },
    }));
    const broken = tellApart({ ...WHOLE, ...by }, parts).map((evidence) => brokenBy(evidence));
    expect(broken).toEqual(
      [ofLeast, ofMost].map((laws) => laws.map((law) => expect.stringMatching(law) as unknown)),
    );
  });

  it('leaves one that is alone as it is', () => {
    const [, once] = PARTS;
    if (once === undefined) throw new Error('no part');
    const [evidence] = tellApart({ ...WHOLE, ...counted('notices', 1) }, [once]);
    expect(evidence?.status.possiblySentTwice.notices).toBe(1);
  });
});

import { describe, expect, it } from 'vitest';
import {
  FIRST_ACCEPTED,
  GOOD,
  HARMLESS,
  ONCE,
  attempt,
  batch,
  brokenBy,
  jobs,
  record,
  resent,
  twiceSeen,
  unknownAttempt,
  unknownChunk,
  unknownNotice,
  unknownOfBatch,
} from './support/good-run.ts';
import { judge, type Evidence } from './support/judge.ts';
import { LAWS, type Promises, type Verdict } from './support/laws.ts';

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
      'unknown contacts of a part whose chunk has another number than their place in the list',
      {
        ...record({ b1: 0 }),
        ...unknownOfBatch('b1', 'c-at-least-once-7'),
        attempts: [...GOOD.attempts, { ...unknownChunk(3), job: 'c-at-least-once-7' }],
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

import { describe, expect, it } from 'vitest';
import { tellApart, type Part, type Whole } from './support/apart.ts';
import {
  COUNTS,
  GOOD,
  JOBS,
  ONCE,
  attempt,
  brokenBy,
  jobs,
  resent,
  twiceSeen,
} from './support/good-run.ts';
import type { Evidence } from './support/judge.ts';

const COUNTED = /every duplicate is counted/;
const FOR_ITSELF = /refuses for itself/;

const { delivery, listed, spoiled, notices, bad, others, handedAt, seen, ...WHAT_IS_SEEN } = GOOD;
const HANDED = { delivery, listed, spoiled, notices, bad, others, handedAt, seen };
/** GOOD for both policies; what is of at-most-once begins with "o". */
const ofOnce = (name: string) => `o${name}`;
const renamed = <Value>(entries: ReadonlyMap<string, Value>, to: (value: Value) => Value) =>
  new Map([...entries].map(([name, value]) => [ofOnce(name), to(value)]));
const PARTS: readonly Part[] = [
  { load: HANDED, batch: COUNTS, unknownOfBatch: new Map() },
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
    unknownOfBatch: new Map(),
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

import { judge, type Evidence, type Fate } from './judge.ts';
import { brokenLaws, type Promises, type Verdict } from './laws.ts';

export type Counts = Readonly<Record<string, number>>;

const ALL: Counts = { b1: 1, b2: 1, b3: 1, c1: 1, c2: 1 };
/** The record of the service, where contacts were taken so often. */
export const record = (times: Counts = {}): Pick<Evidence, 'record'> => ({
  record: new Map(Object.entries({ ...ALL, ...times }).filter(([, count]) => count > 0)),
});
export const COUNTS: Evidence['batch'] = {
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
export const batch = (counts: Partial<Evidence['batch']>) => ({ batch: { ...COUNTS, ...counts } });
export const JOBS = { waiting: 0, active: 0, delayed: 0, failed: 1 };
const NONE_TWICE = { notices: 0, chunks: 0 };
export const jobs = (counts: Partial<typeof JOBS>): Pick<Evidence, 'status'> => ({
  status: { jobs: { ...JOBS, ...counts }, possiblySentTwice: NONE_TWICE },
});
/** A notice or a contact of the batch that is listed as unknown. */
export const unknownNotice = (possiblySent: number) => ({
  unknown: { notices: [{ id: 'n2', possiblySent }], ofBatch: new Map() },
});
export const unknownOfBatch = (contact: string, job = 'c-at-least-once-0') => ({
  ...batch({ accepted: 2, unknown: 1 }),
  unknown: { notices: [], ofBatch: new Map([[contact, job]]) },
});
export const twiceSeen = (lane: 'notices' | 'chunks', count: number) => {
  const possiblySentTwice = { ...NONE_TWICE, [lane]: count };
  return { status: { jobs: JOBS, possiblySentTwice }, metrics: possiblySentTwice };
};
export const attempt = (job: string, more: object = {}) => ({
  event: 'attempt',
  job,
  outcome: 'accepted',
  requests: 1,
  ...more,
});
export const resent = (job: string) => ({
  attempts: [attempt(job, { possiblySent: 1, attempt: 2 })],
});
export const unknownAttempt = attempt('n1', { outcome: 'unknown' });
/** The attempt at the chunk of the batch that made it unknown. @param possiblySent how often it was by then */
export const unknownChunk = (possiblySent: number) =>
  attempt('c-at-least-once-0', { outcome: 'unknown', attempt: possiblySent, possiblySent });

/** Everything was accepted once; the bad notice was rejected. */
export const GOOD: Evidence = {
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
  unknown: { notices: [], ofBatch: new Map() },
  metrics: NONE_TWICE,
  attempts: [attempt('n1'), attempt('n2'), attempt('x1', { outcome: 'rejected' })],
  attemptsOfJob: 10,
  unknownResends: 2,
};
export const ONCE = { delivery: 'at-most-once' } as const;
export const FIRST_ACCEPTED = { attempts: [attempt('n1')] };
export const HARMLESS: Promises = { harmless: true };

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

export const brokenBy = (
  by: Partial<Evidence>,
  rest: Partial<Verdict> = {},
  promises: Promises = { exactTokens: true, waitMs: 1_000, mostInDoubt: 1 },
) => {
  const verdict = { ...REST, ...judge({ ...GOOD, ...by }), ...rest };
  return brokenLaws(verdict, { boundMs: 1_000, hold: 'credit', ...promises }).map((law) =>
    law.slice(0, law.lastIndexOf(': ')),
  );
};

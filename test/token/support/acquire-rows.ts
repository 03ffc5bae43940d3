import type { TokenWant } from '../../../src/token/acquire-decision.ts';
import type { SlotState, Verdict } from './decide-acquire.ts';

export const limits = {
  lockTtlMs: 15_000,
  issueDeadlineMs: 10_000,
  graceMs: 1000,
  minAgeMs: 10_000,
  budget: 3,
  budgetWindowMs: 3_600_000,
  refusedMinMs: 2000,
  refusedMaxMs: 60_000,
  renewBeforeMs: 60_000,
};

export const any: TokenWant = { why: 'use', refused: '', graceMs: 0 };
export const after401: TokenWant = { why: 'use', refused: 'T1', graceMs: limits.graceMs };
export const after403: TokenWant = { why: 'use', refused: 'T1', graceMs: limits.minAgeMs };
/** As the documentation of the service shows it, for any token that is not valid. */
export const invalid: TokenWant = {
  ...after401,
  refusal: { status: 401, code: 'INVALID_ACCESS_KEY' },
};
export const refusedWith = (status: 401 | 403, code?: string): TokenWant => ({
  ...after401,
  refusal: { status, code },
});
export const foreign: TokenWant = {
  why: 'use',
  refused: 'T1',
  graceMs: limits.minAgeMs,
  refusal: { status: 403, code: 'FOREIGN' },
};
export const early: TokenWant = { why: 'early', refused: 'T1' };
export const unreadable: TokenWant = { why: 'unreadable', refused: 'T1' };

export const T1 = { id: 'T1', ageMs: 100_000, fence: 7, proven: true };
const worn = { ...T1, proven: false, unproven: 1 };
const refusal = { kind: 'credentials', code: 'IP_NOT_ALLOWED', ttl: 30_000 };
export const lock = (fence: number): Verdict => ({ kind: 'lock', fence });
const take: Verdict = { kind: 'take', id: 'T1' };
const young: Verdict = { kind: 'young', id: 'T1' };
const keep: Verdict = { kind: 'keep', id: 'T1' };
const uncured = { ageMs: 20_000, distanceMs: 60_000 };
export const nobody = { askedMsAgo: 9_000, row: 3 };
const wait: Verdict = { kind: 'wait', restMs: 9000 };
const later: Verdict = { kind: 'later' };
const refused: Verdict = {
  kind: 'refused',
  code: 'IP_NOT_ALLOWED',
  restMs: 30_000,
  fresh: false,
};
const contested = (restMs: number): Verdict => ({
  kind: 'refused',
  code: 'TOKEN_CONTESTED',
  restMs,
  fresh: true,
});

export const three = [1_000, 2_000, 590_000];

/** What is stored, what is wanted, and what the script decides. */
export const rows: [string, SlotState, TokenWant, Verdict][] = [
  ['empty record: lock', {}, any, lock(1)],
  ['a token, none refused: take', { token: T1 }, any, take],
  ['another refused than stored: take', { token: T1 }, { ...after401, refused: 'T0' }, take],
  ['a lock does not prevent taking', { token: T1, lock: 9000 }, any, take],
  ['the refused one stored: lock, next fence', { token: T1, fence: 7 }, after401, lock(8)],
  ['young after 401', { token: { ...T1, ageMs: 400 } }, after401, young],
  ['older than the grace after 401', { token: { ...T1, ageMs: 1400 } }, after401, lock(8)],
  ['young after 403', { token: { ...T1, ageMs: 8000 } }, after403, young],
  ['older than the grace after 403', { token: { ...T1, ageMs: 11_000 } }, after403, lock(8)],
  [
    'young, and another process issues',
    { token: { ...T1, ageMs: 400 }, lock: 9000 },
    after401,
    young,
  ],
  ['issued in the future is not young', { token: { ...T1, ageMs: -60_000 } }, after401, lock(8)],
  ['expired: lock', { token: { ...T1, restMs: -1 } }, any, lock(8)],
  ['expired and young: lock', { token: { ...T1, ageMs: 10, restMs: -1 } }, after401, lock(8)],
  ['alive for a while: take', { token: { ...T1, restMs: 60_000 } }, any, take],
  ['another process issues: wait', { token: T1, lock: 9000 }, after401, wait],
  ['another process issues the first: wait', { lock: 9000 }, any, wait],
  ['a lock without ttl is removed', { lock: 'none' }, any, lock(1)],
  ['a lock longer than configured is removed', { lock: 900_000 }, any, lock(1)],
  ['a refusal in effect: refused', { refusal }, any, refused],
  ['a refusal comes before the stored token', { refusal, token: T1 }, any, refused],
  ['a refusal comes before the lock', { refusal, lock: 9000 }, any, refused],
  ['a refusal without ttl is removed', { refusal: { ...refusal, ttl: 'none' } }, any, lock(1)],
  ['a refusal too long is removed', { refusal: { ...refusal, ttl: 900_000 } }, any, lock(1)],
  ['the fence exceeds the stored one', { token: T1, fence: 2 }, after401, lock(8)],
  ['the fence continues when the token is lost', { fence: 41 }, any, lock(42)],
  ['without a sealed text: absent', { token: { ...T1, garbled: 'sealed' } }, any, lock(8)],
  ['without a time: absent', { token: { ...T1, garbled: 'issuedAt' } }, any, lock(8)],
  ['without a fence: absent', { token: { ...T1, garbled: 'fence' }, fence: 3 }, any, lock(4)],
  ['expiry no number: absent', { token: { ...T1, garbled: 'expiresAt' } }, any, lock(8)],
  ['cannot be decrypted: no grace', { token: { ...T1, ageMs: 10 } }, unreadable, lock(8)],
  ['cannot be decrypted, replaced', { token: T1 }, { ...unreadable, refused: 'T0' }, take],
  ['cannot be decrypted twice: not contested', { token: worn }, unreadable, lock(8)],
  ['never worked, the first: lock', { token: { ...worn, unproven: 0 } }, after401, lock(8)],
  ['never worked, the second: contested', { token: worn }, after401, contested(2000)],
  ['... the fourth', { token: { ...worn, unproven: 3 } }, after401, contested(8000)],
  ['... the thirtieth', { token: { ...worn, unproven: 29 } }, after401, contested(60_000)],
  ['reported once per token', { token: { ...worn, contested: true } }, after401, lock(8)],
  ['worked, after one that did not', { token: { ...worn, proven: true } }, after401, lock(8)],
  [
    'contested, but another process has the lock: wait',
    { token: worn, lock: 9000 },
    after401,
    wait,
  ],
  ['died early, two others did: lock', { token: T1, deaths: [1, 2] }, invalid, lock(8)],
  [
    'died early, three others did: contested',
    { token: T1, deaths: three },
    invalid,
    contested(2000),
  ],
  ['... five', { token: T1, deaths: [5, 6, ...three] }, invalid, contested(8000)],
  [
    '... thirty, at most the longest',
    { token: T1, deaths: [...Array(30).keys()] },
    invalid,
    contested(60_000),
  ],
  ['... one of them too long ago: lock', { token: T1, deaths: [1, 2, 600_001] }, invalid, lock(8)],
  ['... one of them of the future: lock', { token: T1, deaths: [1, 2, -90_000] }, invalid, lock(8)],
  [
    '... reported once per token',
    { token: { ...T1, contested: true }, deaths: three },
    invalid,
    lock(8),
  ],
  [
    '... another process has the lock: wait',
    { token: T1, deaths: three, lock: 9000 },
    invalid,
    wait,
  ],
  [
    '... another is stored: take',
    { token: T1, deaths: three },
    { ...invalid, refused: 'T0' },
    take,
  ],
  ['... within its grace: young', { token: { ...T1, ageMs: 400 }, deaths: three }, invalid, young],
  [
    'was replaced, as its code shows',
    { token: T1, deaths: three },
    refusedWith(401, 'TOKEN_MISMATCH'),
    contested(2000),
  ],
  ['refused without a code: keep', { token: T1, deaths: three }, refusedWith(401), keep],
  [
    'a code that may be of the notice: keep',
    { token: T1, deaths: three },
    refusedWith(401, 'SENDER_UNKNOWN'),
    keep,
  ],
  [
    '... an acceptance was asked for a moment ago: keep',
    { token: T1, deaths: three, evidence: { ...nobody, askedMsAgo: 900 } },
    refusedWith(401, 'SENDER_UNKNOWN'),
    keep,
  ],
  [
    '... nothing is accepted: contested',
    { token: T1, deaths: three, evidence: { ...nobody, row: 1 } },
    refusedWith(401, 'SENDER_UNKNOWN'),
    contested(2000),
  ],
  [
    '... without a code: contested',
    { token: T1, deaths: three, evidence: nobody },
    refusedWith(401),
    contested(2000),
  ],
  [
    '... two others died: lock',
    { token: T1, deaths: [1, 2] },
    refusedWith(401, 'SENDER_UNKNOWN'),
    lock(8),
  ],
  [
    'its time was over: lock',
    { token: T1, deaths: three },
    refusedWith(401, 'TOKEN_EXPIRED'),
    lock(8),
  ],
  [
    'it was removed: lock',
    { token: T1, deaths: three },
    refusedWith(401, 'TOKEN_RECORD_NOT_FOUND'),
    lock(8),
  ],
  ['403: lock', { token: T1, deaths: three }, refusedWith(403, 'INVALID_ACCESS_KEY'), lock(8)],
  ['ten minutes old: lock', { token: { ...T1, ageMs: 600_000 }, deaths: three }, invalid, lock(8)],
  [
    'before half of its life: contested',
    { token: { ...T1, ageMs: 20_000, restMs: 40_000 }, deaths: three },
    invalid,
    contested(2000),
  ],
  [
    'after half of its life: lock',
    { token: { ...T1, ageMs: 40_000, restMs: 20_000 }, deaths: three },
    invalid,
    lock(8),
  ],
  [
    'issued in the future: lock',
    { token: { ...T1, ageMs: -60_000 }, deaths: three },
    invalid,
    lock(8),
  ],
  ['early, after three deaths: lock', { token: T1, deaths: three }, early, lock(8)],
  [
    'cannot be decrypted, after three deaths: lock',
    { token: T1, deaths: three },
    unreadable,
    lock(8),
  ],
  ['a refusal that a token did not end: keep', { token: T1, uncured }, foreign, keep],
  ['... also within the grace time', { token: { ...T1, ageMs: 10 }, uncured }, foreign, keep],
  ['... another is stored: take', { token: T1, uncured }, { ...foreign, refused: 'T0' }, take],
  ['... of another code: lock', { token: T1, uncured }, after403, lock(8)],
  [
    '... too long ago: lock',
    { token: T1, uncured: { ...uncured, ageMs: 700_000 } },
    foreign,
    lock(8),
  ],
  [
    '... of the future: lock',
    { token: T1, uncured: { ...uncured, ageMs: -90_000 } },
    foreign,
    lock(8),
  ],
  ['... nothing is accepted: lock', { token: T1, uncured, evidence: nobody }, foreign, lock(8)],
  [
    '... of two notices: keep',
    { token: T1, uncured, evidence: { ...nobody, row: 2 } },
    foreign,
    keep,
  ],
  [
    '... asked for a moment ago: keep',
    { token: T1, uncured, evidence: { ...nobody, askedMsAgo: 900 } },
    foreign,
    keep,
  ],
  [
    '... tried a moment ago: keep',
    { token: T1, uncured: { ...uncured, ageMs: 5_000 }, evidence: nobody },
    foreign,
    keep,
  ],
  [
    '... the token never worked: keep',
    { token: { ...T1, proven: false }, uncured, evidence: nobody },
    foreign,
    keep,
  ],
  [
    '... after its distance, one notice: lock',
    { token: T1, uncured: { ...uncured, ageMs: 61_000 }, evidence: { ...nobody, row: 1 } },
    foreign,
    lock(8),
  ],
  ['early: lock', { token: { ...T1, ageMs: 10, restMs: 60_000 } }, early, lock(8)],
  ['early, another stored: take', { token: T1 }, { ...early, refused: 'T0' }, take],
  ['early, too soon: later', { token: { ...T1, earlyInMs: 9000 } }, early, later],
  ['early, the pause is over', { token: { ...T1, earlyInMs: -1 } }, early, lock(8)],
  ['early, never contested', { token: worn }, early, lock(8)],
  ['early, budget spent: later', { token: T1, issued: [1, 2, 3] }, early, later],
  ['budget left', { issued: [5, 6] }, any, lock(1)],
  ['budget left: some are past the window', { issued: [5, 6, 3_600_001] }, any, lock(1)],
  ['budget left: some are of the future', { issued: [5, 6, -90_000] }, any, lock(1)],
  ['budget spent, at most the longest', { issued: [5, 6, 7] }, any, contested(60_000)],
  ['... until it frees', { issued: [5, 6, 3_590_000] }, any, contested(10_000)],
  ['... the one that counts', { issued: [5, 6, 3_570_000, 3_590_000] }, any, contested(30_000)],
];

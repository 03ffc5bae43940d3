import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keysOf } from '../../src/redis/keys.ts';
import type { AcquireDecision, TokenWant } from '../../src/token/acquire-decision.ts';
import { TokenSeal } from '../../src/token/token-seal.ts';
import { TokenRecord } from '../../src/token/token-record.ts';
import { testRedis } from '../support/redis.ts';
import {
  asVerdict,
  decideAcquire,
  type SlotState,
  type Verdict,
} from './support/decide-acquire.ts';
import { writeState } from './support/write-state.ts';
import { PAIR, SECRET } from './support/world.ts';

const redis = testRedis();

const limits = {
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

const any: TokenWant = { why: 'use', refused: '', graceMs: 0 };
const after401: TokenWant = { why: 'use', refused: 'T1', graceMs: limits.graceMs };
const after403: TokenWant = { why: 'use', refused: 'T1', graceMs: limits.minAgeMs };
/** As the documentation of the service shows it, for any token that is not valid. */
const invalid: TokenWant = {
  ...after401,
  refusal: { status: 401, code: 'INVALID_ACCESS_KEY' },
};
const refusedWith = (status: 401 | 403, code?: string): TokenWant => ({
  ...after401,
  refusal: { status, code },
});
const foreign: TokenWant = {
  why: 'use',
  refused: 'T1',
  graceMs: limits.minAgeMs,
  refusal: { status: 403, code: 'FOREIGN' },
};
const early: TokenWant = { why: 'early', refused: 'T1' };
const unreadable: TokenWant = { why: 'unreadable', refused: 'T1' };

const T1 = { id: 'T1', ageMs: 100_000, fence: 7, proven: true };
const worn = { ...T1, proven: false, unproven: 1 };
const refusal = { kind: 'credentials', code: 'IP_NOT_ALLOWED', ttl: 30_000 };
const lock = (fence: number): Verdict => ({ kind: 'lock', fence });
const take: Verdict = { kind: 'take', id: 'T1' };
const young: Verdict = { kind: 'young', id: 'T1' };
const keep: Verdict = { kind: 'keep', id: 'T1' };
const uncured = { status: 403, code: 'FOREIGN', ageMs: 20_000, distanceMs: 60_000 } as const;
const nobody = { askedMsAgo: 9_000, row: 3 };
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

const three = [1_000, 2_000, 590_000];
const war = { token: T1, deaths: three, evidence: nobody };
const kept = { token: T1, deaths: three };

const rows: [string, SlotState, TokenWant, Verdict][] = [
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
  ['died early, two others did: lock', { ...war, deaths: [1, 2] }, invalid, lock(8)],
  ['died early, three others did: contested', war, invalid, contested(2000)],
  ['... five', { ...war, deaths: [5, 6, ...three] }, invalid, contested(8000)],
  [
    '... thirty, at most the longest',
    { ...war, deaths: [...Array(30).keys()] },
    invalid,
    contested(60_000),
  ],
  [
    '... one of them too long ago: lock',
    { token: T1, deaths: [1, 2, 600_001], evidence: nobody },
    invalid,
    lock(8),
  ],
  [
    '... one of them of the future: lock',
    { token: T1, deaths: [1, 2, -90_000], evidence: nobody },
    invalid,
    lock(8),
  ],
  ['... reported once per token', { ...war, token: { ...T1, contested: true } }, invalid, lock(8)],
  ['... another process has the lock: wait', { ...war, lock: 9000 }, invalid, wait],
  ['... another is stored: take', war, { ...invalid, refused: 'T0' }, take],
  ['... within its grace: young', { ...war, token: { ...T1, ageMs: 400 } }, invalid, young],
  ['was replaced, as its code shows', war, refusedWith(401, 'TOKEN_MISMATCH'), contested(2000)],
  ['refused without a code', war, refusedWith(401), contested(2000)],
  ['with a code that may be of the notice', war, refusedWith(401, 'FOREIGN'), contested(2000)],
  ['... nothing was asked for: keep', kept, refusedWith(401, 'FOREIGN'), keep],
  ['... nor without a code: keep', kept, refusedWith(401), keep],
  ['... nor with a code about the token: contested', kept, invalid, contested(2000)],
  [
    '... an acceptance was asked for a moment ago: keep',
    { ...war, evidence: { ...nobody, askedMsAgo: 900 } },
    refusedWith(401, 'FOREIGN'),
    keep,
  ],
  [
    'a renewal is due for a refusal that a token did not end: lock',
    { ...war, uncured: { ...uncured, status: 401 } },
    refusedWith(401, 'FOREIGN'),
    lock(8),
  ],
  ['its time was over: lock', war, refusedWith(401, 'TOKEN_EXPIRED'), lock(8)],
  ['it was removed: lock', war, refusedWith(401, 'TOKEN_RECORD_NOT_FOUND'), lock(8)],
  ['403: lock', war, refusedWith(403, 'INVALID_ACCESS_KEY'), lock(8)],
  ['ten minutes old: lock', { ...war, token: { ...T1, ageMs: 600_000 } }, invalid, lock(8)],
  [
    'before half of its life: contested',
    { ...war, token: { ...T1, ageMs: 20_000, restMs: 40_000 } },
    invalid,
    contested(2000),
  ],
  [
    'after half of its life: lock',
    { ...war, token: { ...T1, ageMs: 40_000, restMs: 20_000 } },
    invalid,
    lock(8),
  ],
  ['issued in the future: lock', { ...war, token: { ...T1, ageMs: -60_000 } }, invalid, lock(8)],
  ['early, after three deaths: lock', war, early, lock(8)],
  ['cannot be decrypted, after three deaths: lock', war, unreadable, lock(8)],
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

describe('the acquire script', () => {
  it.each(rows)('%s', async (_, state, want, expected) => {
    expect(decideAcquire(state, want, limits)).toEqual(expected);
    expect(asVerdict(await ask(state, want), expected)).toEqual(expected);
  });

  it('decides as the pure function does, in any state', async () => {
    const ttl = fc.constantFrom('none' as const, 9000, 30_000, 900_000);
    const token = fc.record(
      {
        id: fc.constantFrom('T1', 'T2'),
        ageMs: fc.constantFrom(-60_000, 300, 5000, 100_000),
        restMs: fc.constantFrom(-5000, 60_000),
        fence: fc.nat(9),
        proven: fc.boolean(),
        unproven: fc.nat(4),
        contested: fc.boolean(),
        earlyInMs: fc.constantFrom(-5000, 5000),
        garbled: fc.constantFrom('sealed', 'issuedAt', 'fence', 'expiresAt'),
      },
      { requiredKeys: ['id', 'ageMs', 'fence'] },
    );
    const state = fc.record(
      {
        token,
        refusal: fc.record({ kind: fc.constant('contested'), code: fc.constant('EXPIRED'), ttl }),
        lock: ttl,
        fence: fc.nat(12),
        uncured: fc.record({
          status: fc.constantFrom(401, 403),
          code: fc.constant('FOREIGN'),
          ageMs: fc.constantFrom(-60_000, 5_000, 20_000, 100_000, 700_000),
          distanceMs: fc.constantFrom(60_000, 600_000, 960_000),
        }),
        evidence: fc.record({
          askedMsAgo: fc.constantFrom(-1, 900, 1_500, 9_000),
          row: fc.constantFrom(0, 2, 3),
        }),
        deaths: fc.array(fc.constantFrom(-90_000, 3000, 9000, 700_000), { maxLength: 9 }),
        issued: fc.array(fc.constantFrom(-90_000, 3000, 9000, 3_570_000, 3_700_000), {
          maxLength: 5,
        }),
      },
      { requiredKeys: [] },
    );
    const own = refusedWith(401, 'FOREIGN');
    const want = fc.constantFrom(any, after401, after403, invalid, own, foreign, early, unreadable);
    const same = fc.asyncProperty(state, want, async (state, want) => {
      const expected = decideAcquire(state, want, limits);
      expect(asVerdict(await ask(state, want), expected)).toEqual(expected);
    });
    await expect(fc.assert(same, { numRuns: 1500 })).resolves.toBeUndefined();
  });

  it('takes the lock for its ttl, in the name of the caller', async () => {
    await ask({}, any);
    expect(await redis.client.get(keys.lock)).toBe('me');
    const ttl = await redis.client.pttl(keys.lock);
    expect(ttl).toBeGreaterThan(limits.lockTtlMs - 1000);
    expect(ttl).toBeLessThanOrEqual(limits.lockTtlMs);
  });

  it('holds the lock for its ttl from when it is repeated', async () => {
    await ask({}, any);
    await redis.client.pexpire(keys.lock, 50);
    await record.acquire('me', any);
    expect(await redis.client.pttl(keys.lock)).toBeGreaterThan(limits.lockTtlMs - 1000);
  });

  it('answers the same when it is repeated after a lost reply', async () => {
    const first = await ask({ token: T1, fence: 7 }, after401);
    expect(await record.acquire('me', after401)).toEqual(first);
    expect(await record.acquire('me', after401)).toEqual(lock(8));
    expect(await record.acquire('another', after401)).toMatchObject({ kind: 'wait' });
  });

  it.each([
    ['an early renewal', early, { token: { ...T1, restMs: 60_000 } }],
    [
      'a renewal for a refusal that a new token did not end',
      foreign,
      { token: T1, uncured: { ...uncured, ageMs: 60_000 }, evidence: nobody },
    ],
  ])('answers %s the same when it is repeated after a lost reply', async (_, want, state) => {
    expect(await ask(state, want)).toEqual(lock(8));
    expect(await record.acquire('me', want)).toEqual(lock(8));
  });

  it('a renewal for such a refusal doubles its distance, up to 16 minutes', async () => {
    const distanceAfter = async (distanceMs: number) => {
      const state = {
        token: T1,
        uncured: { ...uncured, ageMs: 970_000, distanceMs },
        evidence: nobody,
      };
      await ask({ ...state, uncured: { ...state.uncured, ageMs: distanceMs } }, foreign);
      return (await redis.client.hget(keys.uncured, '403 FOREIGN'))?.split(' ')[1];
    };
    expect(await distanceAfter(60_000)).toBe('120000');
    expect(await distanceAfter(900_000)).toBe('960000');
  });

  it('gives the lock to one of many concurrent callers', async () => {
    await writeState(redis.client, keys, { token: T1 });
    const asked = Array.from({ length: 50 }, (_, n) => record.acquire(`caller ${n}`, after401));
    const kinds = (await Promise.all(asked)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'lock')).toHaveLength(1);
    expect(kinds.filter((kind) => kind === 'wait')).toHaveLength(49);
  });

  it('counts a contested token among the early deaths, for ten minutes', async () => {
    await ask(war, invalid);
    expect(await redis.client.zrange(keys.deaths, '0', '-1')).toContain('T1');
    expect(await redis.client.zcard(keys.deaths)).toBe(4);
    await ask({ ...war, deaths: [...three, 700_000] }, invalid);
    expect(await redis.client.zcard(keys.deaths)).toBe(4);
    const rest = await redis.client.pttl(keys.deaths);
    expect(rest).toBeGreaterThan(590_000);
    expect(rest).toBeLessThanOrEqual(600_000);
  });

  it('delays the next early renewal for half of the remaining life', async () => {
    await ask({ token: { ...T1, restMs: 60_000 } }, early);
    const [after, expires] = await redis.client.hmget(keys.current, 'earlyAfter', 'expiresAt');
    const ahead = Number(expires) - Number(after);
    expect(ahead).toBeGreaterThanOrEqual(29_000);
    expect(ahead).toBeLessThanOrEqual(30_001);
  });
});

const keys = keysOf(redis.freshPrefix(), 'default').token(PAIR);
const record = new TokenRecord(redis.client, keys, new TokenSeal(SECRET, PAIR), limits, 'host:1');

async function ask(state: SlotState, want: TokenWant): Promise<AcquireDecision> {
  await writeState(redis.client, keys, state);
  return await record.acquire('me', want);
}

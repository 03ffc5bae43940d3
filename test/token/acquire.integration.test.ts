import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keysOf } from '../../src/redis/keys.ts';
import type { TokenWant } from '../../src/token/token-record.ts';
import type { AcquireDecision } from '../../src/token/token-scripts.ts';
import { testRedis } from '../support/redis.ts';
import {
  asVerdict,
  decideAcquire,
  type RecordState,
  type Verdict,
} from './support/decide-acquire.ts';
import { changeRecord, readRecord, redisTime, writeState } from './support/write-state.ts';
import { PAIR, recordOver } from './support/world.ts';

const redis = testRedis();

const limits = {
  lockTtlMs: 15_000,
  issueDeadlineMs: 10_000,
  graceMs: 1000,
  budget: 3,
  budgetWindowMs: 3_600_000,
  refusedMinMs: 2000,
  refusedMaxMs: 60_000,
  renewBeforeMs: 60_000,
};

const any: TokenWant = { refused: '', graceMs: 0, refusal: '', early: false };
const after401: TokenWant = { ...any, refused: 'T1', graceMs: limits.graceMs };
/** Refused with a code that may be of the notice. */
const foreign: TokenWant = { ...after401, refusal: '403 FOREIGN' };
const early: TokenWant = { ...any, refused: 'T1', early: true };

const T1 = { id: 'T1', ageMs: 100_000, fence: 7 };
const refusal = { code: 'IP_NOT_ALLOWED', ageMs: 5_000, restMs: 30_000 };
const lock = (fence: number): Verdict => ({ kind: 'lock', fence });
const take: Verdict = { kind: 'take', id: 'T1' };
const young: Verdict = { kind: 'young', id: 'T1' };
const keep: Verdict = { kind: 'keep', id: 'T1' };
const tried = { refusal: '403 FOREIGN', restMs: 300_000 };
const wait: Verdict = { kind: 'wait', restMs: 9000 };
const later: Verdict = { kind: 'wait', restMs: 0 };
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

const rows: [string, RecordState, TokenWant, Verdict][] = [
  ['empty record: lock', {}, any, lock(1)],
  ['a token, none refused: take', { token: T1 }, any, take],
  ['another refused than stored: take', { token: T1 }, { ...after401, refused: 'T0' }, take],
  ['a lock does not prevent taking', { token: T1, lock: 9000 }, any, take],
  ['the refused one stored: lock, next fence', { token: T1, fence: 7 }, after401, lock(8)],
  ['young after 401', { token: { ...T1, ageMs: 400 } }, after401, young],
  ['older than the grace after 401', { token: { ...T1, ageMs: 1400 } }, after401, lock(8)],
  ['issued in the future is not young', { token: { ...T1, ageMs: -60_000 } }, after401, lock(8)],
  ['expired and young: lock', { token: { ...T1, ageMs: 10, restMs: -1 } }, after401, lock(8)],
  ['another process issues: wait', { token: T1, lock: 9000 }, after401, wait],
  ['a lock without ttl is removed', { lock: 'none' }, any, lock(1)],
  ['a lock longer than configured is removed', { lock: 900_000 }, any, lock(1)],
  ['a refusal in effect: refused', { refusal }, any, refused],
  ['a refusal comes before the stored token', { refusal, token: T1 }, any, refused],
  ['a refusal longer than any: lock', { refusal: { ...refusal, restMs: 900_000 } }, any, lock(1)],
  ['a refusal from before a hold was lifted: lock', { refusal, liftedMsAgo: 900 }, any, lock(1)],
  ['a refusal from after that: refused', { refusal, liftedMsAgo: 9_000 }, any, refused],
  ['a lift ahead of the clock: refused', { refusal, liftedMsAgo: -3_600_000 }, any, refused],
  ['the fence exceeds the stored one', { token: T1, fence: 2 }, after401, lock(8)],
  ['the fence continues when the token is lost', { fence: 41 }, any, lock(42)],
  ['without a sealed text: absent', { token: { ...T1, garbled: 'sealed' } }, any, lock(8)],
  ['without a time: absent', { token: { ...T1, garbled: 'issuedAt' } }, any, lock(8)],
  ['without a fence: absent', { token: { ...T1, garbled: 'fence' }, fence: 3 }, any, lock(4)],
  ['expiry no number: absent', { token: { ...T1, garbled: 'expiresAt' } }, any, lock(8)],
  [
    'any but that, also a young one',
    { token: { ...T1, ageMs: 10 } },
    { ...any, refused: 'T1' },
    lock(8),
  ],
  ['a token was issued for such a refusal: keep', { token: T1, tried }, foreign, keep],
  ['... also within the grace time', { token: { ...T1, ageMs: 10 }, tried }, foreign, keep],
  ['... another is stored: take', { token: T1, tried }, { ...foreign, refused: 'T0' }, take],
  ['... it has expired: lock', { token: { ...T1, restMs: -1 }, tried }, foreign, lock(8)],
  ['... for a refusal of the token: lock', { token: T1, tried }, after401, lock(8)],
  ['... too long ago: lock', { token: T1, tried: { ...tried, restMs: -1 } }, foreign, lock(8)],
  [
    '... of the future: lock',
    { token: T1, tried: { ...tried, restMs: 700_000 } },
    foreign,
    lock(8),
  ],
  ['early: lock', { token: { ...T1, ageMs: 10, restMs: 60_000 } }, early, lock(8)],
  ['early, another stored: take', { token: T1 }, { ...early, refused: 'T0' }, take],
  ['early, too soon: later', { token: { ...T1, earlyInMs: 9000 } }, early, later],
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
    const token = fc.record(
      {
        id: fc.constantFrom('T1', 'T2'),
        ageMs: fc.constantFrom(-60_000, 300, 5000, 100_000),
        restMs: fc.constantFrom(-5000, 60_000),
        fence: fc.nat(9),
        earlyInMs: fc.constantFrom(-5000, 5000),
        garbled: fc.constantFrom('sealed', 'issuedAt', 'fence', 'expiresAt'),
      },
      { requiredKeys: ['id', 'ageMs', 'fence'] },
    );
    const state = fc.record(
      {
        token,
        refusal: fc.record({
          code: fc.constant('EXPIRED'),
          ageMs: fc.constantFrom(2_000, 20_000),
          restMs: fc.constantFrom(-5_000, 9_000, 900_000),
        }),
        liftedMsAgo: fc.constantFrom(-90_000, 9_000, 90_000),
        lock: fc.constantFrom('none' as const, 9000, 30_000, 900_000),
        fence: fc.nat(12),
        tried: fc.record({
          refusal: fc.constantFrom('401 FOREIGN', '403 FOREIGN'),
          restMs: fc.constantFrom(-60_000, 5_000, 590_000, 700_000),
        }),
        issued: fc.array(fc.constantFrom(-90_000, 3000, 9000, 3_570_000, 3_700_000), {
          maxLength: 5,
        }),
      },
      { requiredKeys: [] },
    );
    const own = { ...after401, refusal: '401 FOREIGN' };
    const want = fc.constantFrom(any, after401, own, foreign, early);
    const same = fc.asyncProperty(state, want, async (state, want) => {
      const expected = decideAcquire(state, want, limits);
      expect(asVerdict(await ask(state, want), expected)).toEqual(expected);
    });
    await expect(fc.assert(same, { numRuns: 1500 })).resolves.toBeUndefined();
  });

  it.each([after401, early])('answers the same when its reply was lost, %j', async (want) => {
    expect(await ask({ token: { ...T1, restMs: 60_000 }, fence: 7 }, want)).toEqual(lock(8));
    await changeRecord(redis.client, keys, (stored) => (stored.lock.until = Date.now() + 500));
    expect(await record.acquire('me', want)).toEqual(lock(8));
    const held = (await readRecord(redis.client, keys)).lock;
    expect(held.nonce).toBe('me');
    const ttl = Number(held.until) - (await redisTime(redis.client));
    expect(ttl).toBeGreaterThan(limits.lockTtlMs - 1000);
    expect(ttl).toBeLessThanOrEqual(limits.lockTtlMs);
    expect(await record.acquire('another', after401)).toMatchObject({ kind: 'wait' });
  });

  it('gives the lock to one of many concurrent callers', async () => {
    await writeState(redis.client, keys, { token: T1 });
    const asked = Array.from({ length: 50 }, (_, n) => record.acquire(`caller ${n}`, after401));
    const kinds = (await Promise.all(asked)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'lock')).toHaveLength(1);
    expect(kinds.filter((kind) => kind === 'wait')).toHaveLength(49);
  });

  it('delays the next early renewal for half of the remaining life', async () => {
    await ask({ token: { ...T1, restMs: 60_000 } }, early);
    const { token } = await readRecord(redis.client, keys);
    const ahead = Number(token['expiresAt']) - Number(token['earlyAfter']);
    expect(ahead).toBeGreaterThanOrEqual(29_000);
    expect(ahead).toBeLessThanOrEqual(30_001);
  });
});

const keys = keysOf(redis.freshPrefix(), 'default').token(PAIR);
const record = recordOver(redis.client, keys, limits);

async function ask(state: RecordState, want: TokenWant): Promise<AcquireDecision> {
  await writeState(redis.client, keys, state);
  return await record.acquire('me', want);
}

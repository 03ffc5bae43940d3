import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keysOf } from '../../src/redis/keys.ts';
import type { TokenWant } from '../../src/token/token-record.ts';
import type { AcquireDecision } from '../../src/token/token-scripts.ts';
import { testRedis } from '../support/redis.ts';
import { asVerdict, decideAcquire, type RecordState } from './support/decide-acquire.ts';
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
const lock = { kind: 'lock', fence: 8 };
describe('the acquire script', () => {
  it('decides as the pure function does, in any state', async () => {
    const token = fc.record(
      {
        id: fc.constantFrom('T1', 'T2'),
        ageMs: fc.constantFrom(-60_000, 10, 400, 1_400, 100_000),
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
    const one = { ...any, refused: 'T1' };
    const want = fc.constantFrom(any, one, after401, own, foreign, early);
    const same = fc.asyncProperty(state, want, async (state, want) => {
      const expected = decideAcquire(state, want, limits);
      expect(asVerdict(await ask(state, want), expected)).toEqual(expected);
    });
    await expect(fc.assert(same, { numRuns: 1500 })).resolves.toBeUndefined();
  });

  it.each([after401, early])('answers the same when its reply was lost, %j', async (want) => {
    expect(await ask({ token: { ...T1, restMs: 60_000 }, fence: 7 }, want)).toEqual(lock);
    await changeRecord(redis.client, keys, (stored) => (stored.lock.until = Date.now() + 500));
    expect(await record.acquire('me', want)).toEqual(lock);
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

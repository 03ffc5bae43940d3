import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keysOf } from '../../src/redis/keys.ts';
import type { AcquireDecision, TokenWant } from '../../src/token/acquire-decision.ts';
import { TokenSeal } from '../../src/token/token-seal.ts';
import { TokenRecord } from '../../src/token/token-record.ts';
import { testRedis } from '../support/redis.ts';
import {
  limits,
  any,
  after401,
  after403,
  invalid,
  refusedWith,
  foreign,
  early,
  unreadable,
  T1,
  lock,
  nobody,
  three,
  rows,
} from './support/acquire-rows.ts';
import { decideAcquire, type SlotState, type Verdict } from './support/decide-acquire.ts';
import { writeState } from './support/write-state.ts';
import { PAIR, SECRET } from './support/world.ts';

const redis = testRedis();

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
          ageMs: fc.constantFrom(-60_000, 5_000, 20_000, 100_000, 700_000),
          distanceMs: fc.constantFrom(60_000, 600_000, 960_000),
        }),
        evidence: fc.record({
          askedMsAgo: fc.constantFrom(-1, 900, 9_000),
          row: fc.constantFrom(0, 2, 3),
        }),
        deaths: fc.array(fc.constantFrom(-90_000, 3000, 9000, 700_000), { maxLength: 9 }),
        issued: fc.array(fc.constantFrom(-90_000, 3000, 9000, 3_570_000, 3_700_000), {
          maxLength: 5,
        }),
      },
      { requiredKeys: [] },
    );
    const own = refusedWith(401, 'SENDER_UNKNOWN');
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
      { token: T1, uncured: { ageMs: 60_000, distanceMs: 60_000 }, evidence: nobody },
    ],
  ])('answers %s the same when it is repeated after a lost reply', async (_, want, state) => {
    expect(await ask(state, want)).toEqual(lock(8));
    expect(await record.acquire('me', want)).toEqual(lock(8));
  });

  it('a renewal for such a refusal doubles its distance, up to 16 minutes', async () => {
    const distanceAfter = async (distanceMs: number) => {
      const state = { token: T1, uncured: { ageMs: 970_000, distanceMs }, evidence: nobody };
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
    await ask({ token: T1, deaths: three }, invalid);
    expect(await redis.client.zrange(keys.deaths, '0', '-1')).toContain('T1');
    expect(await redis.client.zcard(keys.deaths)).toBe(4);
    await ask({ token: T1, deaths: [...three, 700_000] }, invalid);
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

/**
 * What was decided, said as the expected verdict says it: a time that is short of the expected one
 * by the moment between writing the state and asking counts as the same.
 */
function asVerdict(decision: AcquireDecision, expected: Verdict): Verdict {
  const wanted = 'restMs' in expected ? expected.restMs : 0;
  const near = (ms: number) => (ms <= wanted && ms > wanted - 1500 ? wanted : ms);
  switch (decision.kind) {
    case 'take':
    case 'young':
    case 'keep':
      return { kind: decision.kind, id: decision.stored.id };
    case 'refused': {
      const { refusal, fresh } = decision;
      return { kind: 'refused', code: refusal.code, restMs: near(refusal.restMs), fresh };
    }
    case 'wait':
      return { kind: 'wait', restMs: near(decision.restMs) };
    case 'later':
    case 'lock':
      return decision;
  }
}

import { inspect } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import { keysOf, type TokenKeys } from '../../src/redis/keys.ts';
import type { Refusal } from '../../src/contracts/token.ts';
import type { Grant } from '../../src/token/token-record.ts';
import { TokenRecord } from '../../src/token/token-record.ts';
import { TokenSeal } from '../../src/token/token-seal.ts';
import { tokenOf } from '../../src/token/token-seal.ts';
import { testRedis } from '../support/redis.ts';
import { PAIR, SECRET, SETTINGS } from './support/world.ts';

const redis = testRedis();
const seal = new TokenSeal(SECRET, PAIR);
const [A, B, C] = [tokenOf('value-a'), tokenOf('value-b'), tokenOf('value-c')];

let keys: TokenKeys;
let record: TokenRecord;

beforeEach(() => {
  keys = keysOf(redis.freshPrefix(), 'default').token(PAIR);
  record = new TokenRecord(redis.client, keys, seal, SETTINGS, 'host:1');
});

/** Takes the lock for a caller that saw this token refused. */
async function grant(nonce: string, refused = ''): Promise<Grant> {
  const decision = await record.acquire(nonce, { why: 'use', refused, graceMs: 0 });
  if (decision.kind !== 'lock') throw new Error(`expected the lock, got ${decision.kind}`);
  return { nonce, fence: decision.fence };
}

const store = (by: Grant, token = A, replaced = '', lifeMs?: number) =>
  record.store(by, token, lifeMs, replaced, 2000);

const current = (field: string) => redis.client.hget(keys.current, field);

describe('store', () => {
  it('stores the token encrypted, releases the lock and wakes the waiters', async () => {
    const ear = redis.connect();
    await ear.subscribe(keys.hints);
    const heard = new Promise((resolve) => ear.once('message', (_, text) => resolve(text)));
    await expect(store(await grant('one'))).resolves.toBe('stored');

    const stored = await redis.client.hgetall(keys.current);
    expect(seal.unseal(A.id, stored['sealed'] ?? '')).toEqual(A);
    expect(inspect(stored)).not.toContain(A.value);
    expect(stored).toMatchObject({ id: A.id, fence: '1', issuer: 'host:1', proven: '0' });
    expect(stored['expiresAt']).toBe('');
    expect(await redis.client.exists(keys.lock)).toBe(0);
    expect(await heard).toBe(`stored:${A.id}`);
  });

  it('keeps a known life in Redis time', async () => {
    await store(await grant('one'), A, '', 60_000);
    expect(Number(await current('expiresAt')) - Number(await current('issuedAt'))).toBe(60_000);
  });

  it('rejects a late holder, and leaves the newer token and the foreign lock', async () => {
    const late = await grant('late');
    await redis.client.del(keys.lock);
    await store(await grant('second'), B);
    await grant('third', B.id);

    await expect(store(late, A)).resolves.toBe('late');
    expect(await current('id')).toBe(B.id);
    expect(await redis.client.get(keys.lock)).toBe('third');
  });

  it('rejects a holder whose fence was given twice, and leaves what is stored', async () => {
    const first = await grant('first');
    await store(first, A);
    // A failover can forget that a fence was given, but not what was stored under it.
    await expect(store({ nonce: 'second', fence: first.fence }, B)).resolves.toBe('late');
    expect(await current('id')).toBe(A.id);
    expect(await redis.client.zcard(keys.issued)).toBe(2);
  });

  it('lets a holder that lost its lock store, as long as its fence is the highest', async () => {
    const first = await grant('first');
    await redis.client.del(keys.lock);
    const second = await grant('second');
    await expect(store(first, A)).resolves.toBe('stored');
    expect(await redis.client.get(keys.lock)).toBe('second');
    await expect(store(second, B)).resolves.toBe('stored');
    expect(await current('id')).toBe(B.id);
  });

  it('answers the same to a repetition after a lost answer', async () => {
    const by = await grant('one');
    await store(by);
    await expect(store(by)).resolves.toBe('stored');
    expect(await redis.client.zcard(keys.issued)).toBe(1);
  });

  it('counts every issuance, also one that came late', async () => {
    const late = await grant('late');
    await redis.client.del(keys.lock);
    await store(await grant('second'), B);
    await store(late, A);
    expect(await redis.client.zcard(keys.issued)).toBe(2);
    expect(await redis.client.pttl(keys.issued)).toBeGreaterThan(0);
  });

  it('ends a refusal and its streak', async () => {
    await record.fail(await grant('one'), 'credentials', 'IP_NOT_ALLOWED');
    await redis.client.del(keys.refused);
    const by = await grant('two');
    await redis.client.hset(keys.refused, 'kind', 'credentials');
    await store(by);
    expect(await redis.client.exists(keys.refused, keys.streak)).toBe(0);
  });

  it('counts tokens in a row that were refused without having worked', async () => {
    await store(await grant('one'), A);
    await store(await grant('two', A.id), B, A.id);
    expect(await current('unproven')).toBe('1');
    await redis.client.hset(keys.current, 'contested', '1');
    await store(await grant('three', B.id), C, B.id);
    expect(await current('unproven')).toBe('2');
    expect(await current('contested')).toBeNull();
    await record.prove(C.id);
    await store(await grant('four', C.id), A, C.id);
    expect(await current('unproven')).toBe('0');
  });

  it('does not count a token that ran out, or was renewed early, without having been refused', async () => {
    await store(await grant('one'), A);
    await redis.client.hset(keys.current, 'expiresAt', '1');
    await store(await grant('two'), B);
    expect(await current('unproven')).toBe('0');
  });
});

describe('early deaths', () => {
  const INVALID = { status: 401, code: 'INVALID_ACCESS_KEY' } as const;

  /** A token that worked is refused; the caller gets the lock. */
  async function refusedOnce(nonce: string, refused: string, refusal: Refusal = INVALID) {
    await record.prove(refused);
    const want = { why: 'use', refused, graceMs: 0, refusal } as const;
    const decision = await record.acquire(nonce, want);
    if (decision.kind !== 'lock') throw new Error(`expected the lock, got ${decision.kind}`);
    return { nonce, fence: decision.fence };
  }
  const deaths = () => redis.client.zrange(keys.deaths, '0', '-1');

  it('counts a token once its successor ended the refusal, once', async () => {
    await store(await grant('one'), A);
    await store(await refusedOnce('two', A.id), B, A.id);
    expect(await deaths()).toEqual([]);
    await record.cured(INVALID, B.id);
    await record.cured(INVALID, B.id);
    expect(await deaths()).toEqual([A.id]);
    await store(await refusedOnce('three', B.id), C, B.id);
    await record.cured(INVALID, C.id);
    expect((await deaths()).toSorted()).toEqual([A.id, B.id].toSorted());
  });

  it.each<[string, () => Promise<unknown>]>([
    ['of another token', () => record.cured(INVALID, 'another')],
    ['of a process that did not issue it', () => record.cured(INVALID, '')],
    [
      'of a successor that is replaced, too',
      async () => {
        await store(await grant('three', B.id), C, B.id);
        await record.cured(INVALID, B.id);
      },
    ],
  ])('counts no report %s', async (_, report) => {
    await store(await grant('one'), A);
    await store(await refusedOnce('two', A.id), B, A.id);
    await report();
    expect(await deaths()).toEqual([]);
  });

  it.each<[string, Refusal]>([
    ['of a code that names another cause', { status: 401, code: 'TOKEN_RECORD_NOT_FOUND' }],
    ['of a 403', { status: 403 }],
  ])('counts none %s', async (_, refusal) => {
    await store(await grant('one'), A);
    await store(await refusedOnce('two', A.id, refusal), B, A.id);
    await record.cured(refusal, B.id);
    expect(await deaths()).toEqual([]);
  });

  it('counts none of a token that was ten minutes old, or never worked', async () => {
    await store(await grant('one'), A);
    await redis.client.hincrby(keys.current, 'issuedAt', -600_000);
    await store(await refusedOnce('two', A.id), B, A.id);
    await record.cured(INVALID, B.id);
    const want = { why: 'use', refused: B.id, graceMs: 0, refusal: INVALID } as const;
    const decision = await record.acquire('three', want);
    const fence = decision.kind === 'lock' ? decision.fence : 0;
    await store({ nonce: 'three', fence }, C, B.id);
    await record.cured(INVALID, C.id);
    expect(await deaths()).toEqual([]);
  });

  it('counts none after a holder that may have issued without storing: it may have replaced the token', async () => {
    await store(await grant('one'), A);
    await refusedOnce('dead', A.id);
    await redis.client.del(keys.lock);
    await store(await refusedOnce('two', A.id), B, A.id);
    await record.cured(INVALID, B.id);
    expect(await deaths()).toEqual([]);
  });
});

describe('fail', () => {
  it.each([
    ['credentials', [2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]],
    ['unavailable', [500, 1000, 2000, 4000, 8000, 16_000, 30_000]],
  ] as const)('%s doubles from failure to failure: %j ms', async (kind, expected) => {
    const spans: unknown[] = [];
    for (const index of expected.keys()) {
      await redis.client.del(keys.refused);
      spans.push(await record.fail(await grant(`n${index}`), kind, 'TOKEN_UNAVAILABLE'));
    }
    expect(spans).toEqual(expected);
  });

  it('releases the lock, and the fleet is refused for that time', async () => {
    const span = Number(await record.fail(await grant('one'), 'credentials', 'IP_NOT_ALLOWED'));
    expect(await redis.client.exists(keys.lock)).toBe(0);
    const decision = await record.acquire('two', { why: 'use', refused: '', graceMs: 0 });
    expect(decision).toMatchObject({
      kind: 'refused',
      refusal: { kind: 'credentials', code: 'IP_NOT_ALLOWED' },
    });
    const ttl = await redis.client.pttl(keys.refused);
    expect(ttl).toBeGreaterThan(span - 1000);
    expect(ttl).toBeLessThanOrEqual(span);
  });

  it('counts once when it is repeated after a lost answer', async () => {
    const by = await grant('one');
    const span = Number(await record.fail(by, 'credentials', 'IP_NOT_ALLOWED'));
    const again = await record.fail(by, 'credentials', 'IP_NOT_ALLOWED');
    expect(again).toBeGreaterThan(0);
    expect(again).toBeLessThanOrEqual(span);
    expect(await redis.client.get(keys.streak)).toBe('1');
  });

  it('keeps the streak for ten minutes after the last failure', async () => {
    await record.fail(await grant('one'), 'credentials', 'IP_NOT_ALLOWED');
    const rest = await redis.client.pttl(keys.streak);
    expect(rest).toBeGreaterThan(0);
    expect(rest).toBeLessThanOrEqual(600_000);
  });

  const OF_NOTICE: Refusal = { status: 403, code: 'SENDER_NOT_YOURS' };
  const OF_CALLER: Refusal = { status: 403, code: 'IP_NOT_ALLOWED' };
  const LATE = { overdue: 1 };
  const GONE = { expiresAt: 1 };
  const uncuredAs = (refusal: Refusal) =>
    redis.client.hget(keys.uncured, `${refusal.status} ${refusal.code ?? ''}`);

  it.each<[string, 'unreadable' | Refusal | undefined, Record<string, string | number>, boolean]>([
    ['alone that met another refusal, while a token works', OF_NOTICE, {}, true],
    ['alone that cannot decrypt a token that works', 'unreadable', {}, true],
    ['alone that cannot decrypt one that never worked', 'unreadable', { proven: 0 }, true],
    ['alone that cannot decrypt one, while an acceptance is overdue', 'unreadable', LATE, true],
    ['alone that is refused itself, while none is proven', OF_CALLER, { proven: 0 }, true],
    ['alone that is refused itself, while an acceptance is overdue', OF_CALLER, LATE, true],
    [
      'as of all, of one that is refused itself, where the stored one has expired',
      OF_CALLER,
      GONE,
      false,
    ],
    ['as of all, of one that cannot decrypt it, where it has expired', 'unreadable', GONE, false],
    ['as of all, where the token may be invalid', undefined, {}, false],
    ['as of all, where the stored one never worked', OF_NOTICE, { proven: 0 }, false],
    ['as of all, where the stored one has expired', OF_NOTICE, GONE, false],
    ['as of all, where none is stored', 'unreadable', { sealed: '' }, false],
    ['as of all, while an acceptance is overdue', OF_NOTICE, LATE, false],
  ])(
    'counts as a failure of the one %s',
    async (_name, reasons, { overdue, ...changes }, works) => {
      await store(await grant('first'), A);
      await redis.client.hset(keys.current, { proven: 1, ...changes });
      if (overdue !== undefined)
        await redis.client.hset(keys.evidence, 'askedAt', Date.now() - 5_000);
      for (const [kind, nonce] of [
        ['credentials', 'one'],
        ['unavailable', 'two'],
      ] as const) {
        await redis.client.del(keys.refused, keys.streak);
        const failed = await record.fail(await grant(nonce, A.id), kind, 'IP_NOT_ALLOWED', reasons);
        expect(failed === 'works').toBe(works);
        expect(await redis.client.exists(keys.lock)).toBe(0);
        expect(await redis.client.exists(keys.refused, keys.streak)).toBe(works ? 0 : 2);
      }
    },
  );

  it('a refusal that is not of the token is renewed for again once an acceptance is overdue', async () => {
    await store(await grant('first'), A);
    await redis.client.hset(keys.current, { proven: 1 });
    await record.fail(await grant('one', A.id), 'unavailable', 'TOKEN_UNAVAILABLE', OF_NOTICE);
    const want = { why: 'use', refused: A.id, graceMs: 0, refusal: OF_NOTICE } as const;
    expect(await record.acquire('two', want)).toMatchObject({ kind: 'keep' });
    await redis.client.hset(keys.evidence, 'askedAt', Date.now() - 5_000);
    expect(await record.acquire('three', want)).toMatchObject({ kind: 'keep' });
    await redis.client.hset(keys.uncured, '403 SENDER_NOT_YOURS', `${Date.now() - 2_500} 2000`);
    expect(await record.acquire('four', want)).toMatchObject({ kind: 'lock' });
    // A renewal that the service answered, and that did not end it, is the first of its distance.
    await record.addUncured(A.id, OF_NOTICE, 'job');
    expect(await uncuredAs(OF_NOTICE)).toMatch(/ 60000$/);
  });

  it('records nothing for a holder that was overtaken by a newer token', async () => {
    const late = await grant('late');
    await redis.client.del(keys.lock);
    await store(await grant('second'), B);
    await expect(record.fail(late, 'credentials', 'IP_NOT_ALLOWED')).resolves.toBe('overtaken');
    expect(await redis.client.exists(keys.refused)).toBe(0);
  });

  it('records nothing for a holder whose fence another token was stored under', async () => {
    const by = await grant('one');
    await store(by, A);
    const twice = { nonce: 'two', fence: by.fence };
    await expect(record.fail(twice, 'credentials', 'IP_NOT_ALLOWED')).resolves.toBe('overtaken');
    expect(await redis.client.exists(keys.refused)).toBe(0);
  });

  it('records nothing for a holder whose lock is another one now, and leaves that', async () => {
    const late = await grant('late');
    await redis.client.del(keys.lock);
    await grant('second');
    await expect(record.fail(late, 'unavailable', 'TOKEN_UNAVAILABLE')).resolves.toBe('overtaken');
    expect(await redis.client.get(keys.lock)).toBe('second');
  });
});

describe('release and prove', () => {
  it('releases only its own lock', async () => {
    await grant('one');
    await record.release('two');
    expect(await redis.client.get(keys.lock)).toBe('one');
    await record.release('one');
    expect(await redis.client.exists(keys.lock)).toBe(0);
  });

  it('proves the stored token and no other', async () => {
    await store(await grant('one'), A);
    await record.prove(B.id);
    expect(await redis.client.hget(keys.current, 'proven')).toBe('0');
    await record.prove(A.id);
    expect(await redis.client.hget(keys.current, 'proven')).toBe('1');
  });
});

describe('a Redis that fails', () => {
  it('is TOKEN_UNAVAILABLE, with nothing of the command in it', async () => {
    await redis.client.set(keys.current, 'not a hash');
    const error: unknown = await store({ nonce: 'canary', fence: 1 }).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: 'TOKEN_UNAVAILABLE' });
    expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/canary|v1\./);
  });
});

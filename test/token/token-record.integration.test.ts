import { hintChannel } from '../../src/redis/hints.ts';
import { inspect } from 'node:util';
import { beforeEach, describe, expect, it } from 'vitest';
import { keysOf, type TokenKeys } from '../../src/redis/keys.ts';
import type { Grant, TokenRecord } from '../../src/token/token-record.ts';
import { KEPT, OVERTAKEN } from '../../src/token/token-scripts.ts';
import { TokenSeal } from '../../src/token/token-seal.ts';
import { tokenOf } from '../../src/token/token-seal.ts';
import { testRedis } from '../support/redis.ts';
import { PAIR, recordOver, SECRET } from './support/world.ts';
import { changeRecord, dropLock, readRecord } from './support/write-state.ts';

const redis = testRedis();
const seal = new TokenSeal(SECRET, PAIR);
const [A, B] = [tokenOf('value-a'), tokenOf('value-b')];

let keys: TokenKeys;
let record: TokenRecord;

beforeEach(() => {
  keys = keysOf(redis.freshPrefix(), 'default').token(PAIR);
  record = recordOver(redis.client, keys);
});

const ANY = { refused: '', graceMs: 0, refusal: '', early: false };

/** Takes the lock for a caller that saw this token refused. */
async function grant(nonce: string, refused = ''): Promise<Grant> {
  const decision = await record.acquire(nonce, { ...ANY, refused });
  if (decision.kind !== 'lock') throw new Error(`expected the lock, got ${decision.kind}`);
  return { nonce, fence: decision.fence };
}

const store = (by: Grant, token = A, lifeMs = Infinity) =>
  record.store(by, token, lifeMs, '', 2000);

const CODES = { credentials: 'IP_NOT_ALLOWED', unavailable: 'SERVICE_UNREACHABLE' } as const;
const failing = (by: Grant, kind: keyof typeof CODES, refusal = '') =>
  record.fail(by, CODES[kind], refusal);

/** Ends the refusal in effect, as time would. */
const endRefusal = () => change(({ refusal }) => (refusal.until = 1));

const stored = () => readRecord(redis.client, keys);
const change = (by: Parameters<typeof changeRecord>[2]) => changeRecord(redis.client, keys, by);

describe('store', () => {
  it('stores the token encrypted, releases the lock and wakes the waiters', async () => {
    const ear = redis.connect();
    await ear.subscribe(hintChannel(ear, keys.hints));
    const heard = new Promise((resolve) => ear.once('message', (_, text) => resolve(text)));
    await expect(store(await grant('one'))).resolves.toBe(true);

    const { token, lock } = await stored();
    expect(seal.unseal(A.id, String(token['sealed']))).toEqual(A);
    expect(await redis.client.get(keys.record)).not.toContain(A.value);
    expect(token).toMatchObject({ id: A.id, fence: 1, issuer: 'host:1' });
    expect(token).not.toHaveProperty('expiresAt');
    expect(lock).toEqual({});
    expect(await heard).toBe(`stored:${A.id}`);
  });

  it('rejects a late holder, and leaves the newer token and the foreign lock', async () => {
    const late = await grant('late');
    await dropLock(redis.client, keys);
    await store(await grant('second'), B);
    await grant('third', B.id);

    await expect(store(late, A)).resolves.toBe(false);
    expect((await stored()).token['id']).toBe(B.id);
    expect((await stored()).lock.nonce).toBe('third');
  });

  it('lets a holder that lost its lock store, as long as its fence is the highest', async () => {
    const first = await grant('first');
    await dropLock(redis.client, keys);
    const second = await grant('second');
    await expect(store(first, A)).resolves.toBe(true);
    expect((await stored()).lock.nonce).toBe('second');
    await expect(store(second, B)).resolves.toBe(true);
    expect((await stored()).token['id']).toBe(B.id);
  });

  it('answers the same to a repetition after a lost answer', async () => {
    const by = await grant('one');
    await store(by);
    await expect(store(by)).resolves.toBe(true);
    expect(Object.keys((await stored()).issued)).toHaveLength(1);
  });

  it('ends a refusal and its streak', async () => {
    const by = await grant('one');
    await failing(by, 'credentials');
    await store({ nonce: 'two', fence: by.fence + 1 });
    expect((await stored()).refusal).toEqual({});
  });
});

describe('fail', () => {
  it.each([
    ['credentials', [2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]],
    ['unavailable', [500, 1000, 2000, 4000, 8000, 16_000, 30_000]],
  ] as const)('%s doubles from failure to failure: %j ms', async (kind, expected) => {
    const spans: unknown[] = [];
    for (const index of expected.keys()) {
      await endRefusal();
      spans.push(await failing(await grant(`n${index}`), kind));
    }
    expect(spans).toEqual(expected);
  });

  it('counts once when it is repeated after a lost answer', async () => {
    const by = await grant('one');
    const span = await failing(by, 'credentials');
    const again = await failing(by, 'credentials');
    expect(again).toBeGreaterThan(0);
    expect(again).toBeLessThanOrEqual(span);
    expect((await stored()).refusal.failures).toBe(1);
  });

  it.each([
    ['a refusal that may be of the notice, while a token is stored', '403 OF_NOTICE', {}, true],
    ['one that is of the token', '', {}, false],
    ['one while the stored token has expired', '403 OF_NOTICE', { expiresAt: 1 }, false],
    ['one while none is stored', '403 OF_NOTICE', { sealed: '' }, false],
  ])('keeps the token after %s', async (_name, refusal, changes, kept) => {
    await store(await grant('first'), A);
    await change(({ token }) => Object.assign(token, changes));
    const failed = await failing(await grant('one', A.id), 'unavailable', refusal);
    expect(failed === KEPT).toBe(kept);
    expect((await stored()).lock).toEqual({});
    expect((await stored()).refusal.code === undefined).toBe(kept);
    // Soon such a refusal causes another try.
    const until = (await stored()).tried['403 OF_NOTICE'] ?? 0;
    expect(until > Date.now()).toBe(kept);
    expect(until).toBeLessThan(Date.now() + 1_000);
  });

  it('records nothing for a holder that was overtaken by a newer token', async () => {
    const late = await grant('late');
    await dropLock(redis.client, keys);
    await store(await grant('second'), B);
    await expect(failing(late, 'credentials')).resolves.toBe(OVERTAKEN);
    expect((await stored()).refusal).toEqual({});
  });

  it('records nothing for a holder whose lock is another one now, and leaves that', async () => {
    const late = await grant('late');
    await dropLock(redis.client, keys);
    await grant('second');
    await expect(failing(late, 'unavailable')).resolves.toBe(OVERTAKEN);
    expect((await stored()).lock.nonce).toBe('second');
  });
});

describe('a Redis that fails', () => {
  it('is TOKEN_UNAVAILABLE, with nothing of the command in it', async () => {
    await redis.client.hset(keys.record, 'not', 'a text');
    const error: unknown = await store({ nonce: 'canary', fence: 1 }).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: 'TOKEN_UNAVAILABLE' });
    expect(inspect(error, { depth: 9, showHidden: true })).not.toMatch(/canary|v1\./);
  });
});

import { describe, expect, it } from 'vitest';
import { whyNotRedrive } from '../../src/batch/failures/failures.ts';
import type { Ledger } from '../../src/batch/ledger/ledger.ts';
import { allFailed } from '../../src/batch/ledger/settlement.ts';
import { readAudit } from '../../src/ops/audit.ts';
import { decide, type DecideSelect, type Decision } from '../../src/ops/decide.ts';
import { buildBatch, contacts, part } from '../batch/support/built-batch.ts';
import { testRedis } from '../support/redis.ts';
import { WHO } from '../support/unknown-notices.ts';
import { ownRedis } from '../support/own-redis.ts';

const redis = testRedis();

/** 3 chunks of 10: one rejected as a whole, one in part for two reasons, one unknown. */
async function failedBatch(client = redis.client) {
  const { prefix, keys } = redis.account();
  const lists = [contacts(10), contacts(10, 10), contacts(10, 20)];
  const built = await buildBatch(client, prefix, 'b', lists);
  await built.settle(0, allFailed('rejected', 'BAD_TEMPLATE', 'no such template'));
  const failed = [
    await part('rejected', 'BAD_NUMBER', contacts(2, 10)),
    await part('rejected', 'BAD_NUMBER', contacts(1, 12)),
    await part('expired', 'EXPIRED', contacts(1, 13)),
  ];
  await built.settle(1, { accepted: 6, failed });
  await built.settle(2, allFailed('unknown', 'OUTCOME_UNKNOWN', ''));
  const { ledger } = built;
  const act = (
    select: Pick<DecideSelect, 'state' | 'code'>,
    decision: Partial<Decision> = {},
    on: Ledger = ledger,
  ) =>
    decide(
      { redis: client, keys, ledger: on },
      { batch: 'b', ...select },
      { ...WHO, as: 'resend', ...decision },
    );
  /** Contacts by state, after a look at the law: they add up. */
  const counts = async () => {
    const { counts: now } = await built.read();
    const { total, pending, accepted, rejected, unknown, expired, cancelled } = now;
    expect(pending + accepted + rejected + unknown + expired + cancelled).toBe(total);
    return { pending, accepted, rejected, unknown, expired, cancelled };
  };
  return { ...built, keys, act, counts };
}

/** A ledger of which one method is another. */
const ledgerWith = (ledger: Ledger, redrive: Ledger['redrive']): Ledger =>
  new Proxy(ledger, {
    get: (target, name) => {
      if (name === 'redrive') return redrive;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });

const DONE = { gone: 0, late: 0, complete: true, refused: [] };

describe('contacts of a batch that are sent again', () => {
  it('wait for memory in Redis, and end with the reason; decided otherwise, they need none', async () => {
    const { client } = await ownRedis({ args: [] });
    const { act, counts } = await failedBatch(client);
    const used = Number(/^used_memory:(\d+)/m.exec(await client.info('memory'))?.[1]);
    await client.config('SET', 'maxmemory', Math.ceil(used * 1.5));
    const before = await counts();
    const again = act({ state: 'rejected' }, { signal: AbortSignal.timeout(500) });
    await expect(again).rejects.toMatchObject({
      code: 'REDIS_FULL',
      message: expect.stringContaining('0 contacts sent again before') as string,
    });
    expect(await counts()).toEqual(before);
    expect(await act({ state: 'unknown' }, { as: 'discard' })).toMatchObject({ contacts: 10 });
    await client.config('SET', 'maxmemory', 0);
    const stop = new AbortController();
    const fill = () => {
      void client.config('SET', 'maxmemory', Math.ceil(used * 1.5));
      setTimeout(() => stop.abort(), 500);
    };
    const some = { rate: 1_000, signal: stop.signal, onProgress: fill };
    const { contacts: sent, ...stopped } = await act({ state: 'rejected' }, some);
    expect(stopped).toEqual({ ...DONE, done: 1, complete: false });
    const waits = act({ state: 'rejected' });
    await client.config('SET', 'maxmemory', 0);
    expect(await waits).toEqual({ ...DONE, done: 2, contacts: 13 - sent });
  });

  it('are those that match, and no others, which is recorded', async () => {
    const { act, counts, ledger, keys, ...built } = await failedBatch();
    expect(await act({ state: 'rejected' })).toEqual({ ...DONE, done: 3, contacts: 13 });
    expect(await counts()).toEqual({
      accepted: 6,
      rejected: 0,
      unknown: 10,
      expired: 1,
      cancelled: 0,
      pending: 13,
    });
    expect((await built.read()).phase).toBe('sending');
    for (const chunk of ['9', '10', '11']) {
      expect(await ledger.payload('b', chunk)).toBeInstanceOf(Buffer);
    }
    expect(await readAudit(redis.client, keys, 9)).toMatchObject([
      { ...WHO, what: 'decide', target: 'batch b', as: 'resend rejected', contacts: 13 },
    ]);
  });

  it('are never more than the limit, and a failure as a whole or not at all', async () => {
    const { act, counts } = await failedBatch();
    const none = { done: 0, complete: false };
    expect(await act({ state: 'unknown' }, { limit: 9 })).toMatchObject(none);
    const report = await act({ state: 'rejected' }, { limit: 3 });
    expect(report).toMatchObject({ contacts: 3, complete: false });
    expect(await counts()).toMatchObject({ rejected: 10, pending: 3 });
  });

  it('are counted beside one for which Redis failed', async () => {
    const { act, counts, ledger, keys } = await failedBatch();
    let asked = 0;
    const failing = ledgerWith(ledger, (...what) => {
      asked += 1;
      return asked === 2 ? Promise.reject(new Error('Redis is away')) : ledger.redrive(...what);
    });
    const progress: number[] = [];
    const onProgress = (done: number) => progress.push(done);
    const acting = act({ state: 'rejected' }, { onProgress }, failing);
    await expect(acting).rejects.toMatchObject({ code: 'QUEUE_UNAVAILABLE' });
    const { pending, rejected } = await counts();
    expect(pending).toBeGreaterThan(0);
    expect(rejected).toBeGreaterThan(0);
    expect(progress).toEqual([pending]);
    expect(await readAudit(redis.client, keys, 9)).toMatchObject([{ contacts: pending }]);
  });

  it.each([
    ['a pause', /is paused; run "notices resume b"/],
    ['a cancel', /was cancelled/],
    ['its deadline', /deadline has passed/],
  ] as const)('stop at %s that comes meanwhile: the rest is left', async (what, why) => {
    const { act, counts, ledger, keys } = await failedBatch();
    const interrupted = ledgerWith(ledger, async (...one) => {
      const done = await ledger.redrive(...one);
      const { record } = keys.batch('b');
      if (what === 'its deadline') await redis.client.hset(record, 'expiresAt', Date.now());
      else await ledger.control('b', what === 'a pause' ? 'pause' : 'cancel');
      return done;
    });
    // With a rate, one by one.
    const report = await act({ state: 'rejected' }, { rate: 1_000_000 }, interrupted);
    expect(report).toMatchObject({ done: 1, gone: 0 });
    expect(report.refused).toEqual([{ batch: 'b', reason: expect.stringMatching(why) as string }]);
    expect(await counts()).toMatchObject({ rejected: 13 - report.contacts });
  });
});

it('contacts of a batch are given up in any state', async () => {
  const { act, counts } = await failedBatch();
  for (const state of ['rejected', 'expired', 'unknown'] as const) {
    expect(await act({ state }, { as: 'discard' })).toMatchObject(DONE);
  }
  expect(await counts()).toMatchObject({ cancelled: 24, accepted: 6 });
});

describe('whyNotRedrive', () => {
  const now = 1_000_000;
  it.each([
    ['finished', 0, undefined],
    ['sending', 0, undefined],
    ['finished', now + 1, undefined],
    ['finished', now, /deadline has passed.*failures b --state expired --csv/],
    ['sending', now - 1, /deadline has passed.*failures b --state expired --csv/],
    ['importing', 0, /import has not finished/],
    ['paused', 0, /resume b/],
    ['cancelled', 0, /was cancelled.*failures b --state cancelled --csv/],
  ] as const)('%s, expires %i: %s', (phase, expiresAt, expected) => {
    const reason = whyNotRedrive({ id: 'b', phase, expiresAt }, now);
    expect(reason ?? 'it can').toMatch(expected ?? /^it can$/);
  });
});

import { describe, expect, it } from 'vitest';
import { groupFailures } from '../../../src/batch/failures/failure-groups.ts';
import { redriveBatch, whyNotRedrive } from '../../../src/batch/failures/redrive-batch.ts';
import { allBack, allFailed } from '../../../src/batch/ledger/settlement.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { testRedis } from '../../support/redis.ts';
import { buildBatch, contacts, part, type BuiltBatch } from '../support/built-batch.ts';

const redis = testRedis();

/** 3 chunks of 10: one rejected as a whole, one in part for two reasons, one unknown. */
async function failedBatch(prefix = redis.freshPrefix()): Promise<BuiltBatch> {
  const lists = [contacts(10), contacts(10, 10), contacts(10, 20)];
  const built = await buildBatch(redis.client, prefix, 'b', lists);
  await built.settle(0, allFailed('rejected', 'BAD_TEMPLATE', 'no such template'));
  const failed = [
    await part('rejected', 'BAD_NUMBER', contacts(2, 10)),
    await part('rejected', 'BAD_NUMBER', contacts(1, 12)),
    await part('expired', 'EXPIRED', contacts(1, 13)),
  ];
  await built.settle(1, { accepted: 6, failed });
  await built.settle(2, allFailed('unknown', 'OUTCOME_UNKNOWN', ''));
  return built;
}

async function countsOf(built: BuiltBatch) {
  const { counts } = await built.read();
  const { accepted, rejected, unknown, expired, cancelled, pending, total } = counts;
  return { accepted, rejected, unknown, expired, cancelled, pending, total };
}

async function redrive(built: BuiltBatch, selection: Parameters<typeof redriveBatch>[2]) {
  const batch = await built.read();
  return redriveBatch(built.ledger, batch, selection);
}

describe('redriveBatch', () => {
  it('counts what was sent again beside one for which Redis failed', async () => {
    const built = await failedBatch();
    let asked = 0;
    const failing = {
      failures: (id: string) => built.ledger.failures(id),
      redrive: (...what: Parameters<typeof built.ledger.redrive>) => {
        asked += 1;
        if (asked === 2) return Promise.reject(new Error('Redis is away'));
        return built.ledger.redrive(...what);
      },
    };
    const progress: number[] = [];
    const redriving = redriveBatch(failing, await built.read(), { state: 'rejected' }, (redriven) =>
      progress.push(redriven),
    );
    await expect(redriving).rejects.toThrow('Redis is away');
    const { pending, rejected } = await countsOf(built);
    expect(pending).toBeGreaterThan(0);
    expect(rejected).toBeGreaterThan(0);
    expect(progress).toEqual([pending]);
  });
});

describe('groupFailures', () => {
  it('adds up by state and code, the most first, and filters', async () => {
    const built = await failedBatch();
    const batch = await built.read();
    const groups = await groupFailures(built.ledger, batch);
    expect(
      groups.map(({ state, code, contacts, parts }) => [state, code, contacts, parts]),
    ).toEqual(
      expect.arrayContaining([
        ['rejected', 'BAD_TEMPLATE', 10, 1],
        ['unknown', 'OUTCOME_UNKNOWN', 10, 1],
        ['rejected', 'BAD_NUMBER', 3, 2],
        ['expired', 'EXPIRED', 1, 1],
      ]),
    );
    expect(groups.map((group) => group.contacts)).toEqual([10, 10, 3, 1]);
    const only = await groupFailures(built.ledger, batch, {
      state: 'rejected',
      code: 'BAD_NUMBER',
    });
    expect(only).toEqual([
      { state: 'rejected', code: 'BAD_NUMBER', contacts: 3, parts: 2, message: 'about BAD_NUMBER' },
    ]);
  });

  it('a cancelled batch: what was never sent, and what may have been, from its counters', async () => {
    const lists = [contacts(10), contacts(10, 10), contacts(10, 20)];
    const built = await buildBatch(redis.client, redis.freshPrefix(), 'b', lists);
    await built.settle(0, allBack(true));
    await built.settle(1, allFailed('unknown', 'HTTP_500', ''));
    await built.ledger.control('b', 'cancel');
    const batch = await built.read();
    const groups = await groupFailures(built.ledger, batch);
    expect(
      groups.map(({ state, code, contacts: size }) => `${state} ${code} ${size}`).sort(),
    ).toEqual(['cancelled CANCELLED 10', 'unknown HTTP_500 10', 'unknown OUTCOME_UNKNOWN 10']);
    // What a person discarded was sent.
    await built.ledger.resolve('b', '1', 'cancelled');
    const [largest] = await groupFailures(built.ledger, await built.read());
    expect(largest).toMatchObject({
      state: 'cancelled',
      contacts: 20,
      message: 'never sent, or discarded or erased',
    });
  });
});

describe('redriveBatch', () => {
  it('gives back what matches, and nothing else', async () => {
    const built = await failedBatch();
    const report = await redrive(built, { state: 'rejected' });
    expect(report).toEqual({ batch: 'b', redriven: 13, chunks: 3, left: 0, gone: 0 });
    expect(await countsOf(built)).toEqual({
      accepted: 6,
      rejected: 0,
      unknown: 10,
      expired: 1,
      cancelled: 0,
      pending: 13,
      total: 30,
    });
    expect((await built.read()).phase).toBe('sending');
    for (const chunk of [9, 10, 11]) {
      const payload = await built.ledger.payload('b', String(chunk));
      expect(payload).toBeInstanceOf(Buffer);
    }
  });

  it('never more than the limit, and a failure as a whole or not at all', async () => {
    const built = await failedBatch();
    expect(await redrive(built, { state: 'unknown', limit: 9 })).toMatchObject({
      redriven: 0,
      left: 10,
    });
    const report = await redrive(built, { state: 'rejected', limit: 3 });
    expect(report).toMatchObject({ redriven: 3, left: 10 });
    expect(await countsOf(built)).toMatchObject({ rejected: 10, pending: 3 });
  });

  it('keeps to the rate', async () => {
    const built = await failedBatch();
    const startedAt = performance.now();
    await redrive(built, { state: 'rejected', rate: 26 });
    // 13 contacts at 26 a second: the whole takes half a second.
    expect(performance.now() - startedAt).toBeGreaterThan(480);
  });

  it('leaves alone what was redriven and failed again meanwhile', async () => {
    const built = await failedBatch();
    const batch = await built.read();
    const again = allFailed('rejected', 'BAD_TEMPLATE', '');
    await redrive(built, { state: 'rejected', code: 'BAD_TEMPLATE' });
    await built.settle(9, again);
    // As it was read before: chunk 9 was not there then.
    const report = await redriveBatch(built.ledger, batch, {
      state: 'rejected',
      code: 'BAD_TEMPLATE',
    });
    expect(report).toMatchObject({ redriven: 0, left: 0, gone: 0 });
  });

  it.each([
    ['a pause', /is paused; run "notices resume b"/],
    ['a cancel', /was cancelled/],
    ['its deadline', /deadline has passed/],
  ] as const)('stops at %s that comes while it runs, and leaves the rest', async (what, why) => {
    const prefix = redis.freshPrefix();
    const built = await failedBatch(prefix);
    const interrupted = {
      failures: (id: string) => built.ledger.failures(id),
      redrive: async (...one: Parameters<typeof built.ledger.redrive>) => {
        const done = await built.ledger.redrive(...one);
        const { record } = keysOf(prefix, 'default').batch('b');
        if (what === 'its deadline') await redis.client.hset(record, 'expiresAt', Date.now());
        else await built.ledger.control('b', what === 'a pause' ? 'pause' : 'cancel');
        return done;
      },
    };
    // With a rate, one by one.
    const selection = { state: 'rejected', rate: 1_000_000 } as const;
    const report = await redriveBatch(interrupted, await built.read(), selection);
    expect(report).toMatchObject({ chunks: 1, gone: 0 });
    expect(report.reason).toMatch(why);
    expect(report.redriven + report.left).toBe(13);
    expect(await countsOf(built)).toMatchObject({ rejected: report.left });
  });
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

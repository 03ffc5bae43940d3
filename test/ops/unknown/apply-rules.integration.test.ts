import { describe, expect, it } from 'vitest';
import { allFailed } from '../../../src/batch/ledger/settlement.ts';
import { parseUnknownRules } from '../../../src/config/unknown-rules.ts';
import { readAudit } from '../../../src/ops/audit.ts';
import { listUnknownNotices } from '../../../src/ops/unknown.ts';
import { applyUnknownRules } from '../../../src/ops/unknown/apply-rules.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { buildBatch, contacts, part } from '../../batch/support/built-batch.ts';
import { testRedis } from '../../support/redis.ts';
import { parkNotice } from '../support/parked-notice.ts';

const redis = testRedis();
const HOUR = 3_600_000;

/** A notice with code A, one with B, and a batch with ten unknown contacts of A and nine of B. */
async function inDoubt() {
  const prefix = redis.freshPrefix();
  const keys = keysOf(prefix, 'default');
  const a = await parkNotice(redis, {}, prefix, undefined, { code: 'A' });
  const b = await parkNotice(redis, {}, prefix, undefined, { code: 'B' });
  const batch = await buildBatch(redis.client, prefix, 'list', [contacts(10), contacts(10, 10)]);
  await batch.settle(0, allFailed(10, 'unknown', 'A', ''));
  const failed = [await part('unknown', 'B', contacts(9, 11))];
  await batch.settle(1, { accepted: 1, failed });
  const context = { redis: redis.client, keys, ledger: batch.ledger };
  const apply = async (text: string) => {
    const parsed = parseUnknownRules(text);
    if ('problem' in parsed) throw new Error(parsed.problem);
    const applied = await applyUnknownRules(context, parsed.rules);
    return applied.map(({ rule, contacts: many }) => [rule, many]);
  };
  const left = async () => [
    (await listUnknownNotices({ redis: redis.client, keys })).map(({ id }) => id),
    (await batch.read()).counts.unknown,
  ];
  const makeOlder = async (id: string, ms: number) => {
    const text = (await redis.client.hget(keys.intents.unknown, id)) ?? '{}';
    const at = Date.now() - ms;
    const older = JSON.stringify({ ...(JSON.parse(text) as object), at });
    await redis.client.hset(keys.intents.unknown, id, older);
    await redis.client.zadd(keys.intents.unknownAt, at, id);
  };
  return { keys, a: a.id, b: b.id, board: a.board, batch, apply, left, makeOlder };
}

describe('rules for unknown outcomes', () => {
  it('decide what they match, and each application is recorded as that of the rule', async () => {
    const { keys, a, b, batch, apply, left } = await inDoubt();
    expect(await apply('code A and template ONCE: accepted')).toEqual([
      ['code A and template ONCE: accepted', 1],
    ]);
    expect(await left()).toEqual([[b], 19]);
    expect(await apply('older than 1 h: accepted; code B: discard')).toEqual([
      ['code B: discard', 10],
    ]);
    expect(await left()).toEqual([[], 10]);
    expect((await batch.read()).counts).toMatchObject({ cancelled: 9, accepted: 1 });
    const entries = await readAudit(redis.client, keys, 10);
    expect(entries.map(({ who, what, target, as, why }) => [who, what, target, as, why])).toEqual([
      ['UNKNOWN_RULES', 'resolve', 'batch list', 'discard', 'code B: discard'],
      ['UNKNOWN_RULES', 'resolve', b, 'discard', 'code B: discard'],
      ['UNKNOWN_RULES', 'resolve', a, 'accepted', 'code A and template ONCE: accepted'],
    ]);
    expect(await apply('code B: discard')).toEqual([]);
  });

  it('read only the batches that have unknown contacts', async () => {
    const { keys, batch, apply } = await inDoubt();
    const { begunAt } = await batch.read();
    const filling = redis.client.pipeline();
    for (let index = 1; index <= 300; index++) {
      const id = `later-${index}`;
      filling.hset(keys.batch(id).record, { id, phase: 'finished', begunAt });
      filling.zadd(keys.batches, begunAt + index, id);
    }
    await filling.exec();
    await redis.client.config('RESETSTAT');
    expect(await apply('code B: discard')).toEqual([['code B: discard', 10]]);
    const stats = await redis.client.info('commandstats');
    const records = Number(/^cmdstat_hgetall:calls=(\d+)/m.exec(stats)?.[1] ?? 0);
    expect(records).toBeLessThan(20);
    expect((await batch.read()).counts).toMatchObject({ cancelled: 9, unknown: 10 });
  });

  it('decide by age, by the clock of Redis', async () => {
    const { a, b, apply, left, makeOlder } = await inDoubt();
    await makeOlder(a, 25 * HOUR);
    expect(await apply('older than 24 h: accepted')).toEqual([['older than 24 h: accepted', 1]]);
    expect(await left()).toEqual([[b], 19]);
  });

  it('send again once: what is unknown again is left to the next rule, or to a person', async () => {
    const { keys, a, b, board, batch, apply, left } = await inDoubt();
    const rule = 'code A: resend once';
    expect(await apply(rule)).toEqual([[rule, 11]]);
    expect(await board.getJobState(a)).toBe('waiting');
    expect((await batch.read()).counts).toMatchObject({
      pending: 10,
      unknown: 9,
      possiblySentTwice: 10,
    });

    // Both are unknown again.
    await batch.settle(2, allFailed(10, 'unknown', 'A', ''));
    const listed = JSON.stringify({ template: 'ONCE', contacts: 1, code: 'A', at: Date.now() });
    const jobs = keys.noticeJob('').slice(0, -1);
    await redis.client.lrem(`${jobs}:wait`, 0, a);
    await redis.client.zadd(keys.failedNotices, Date.now(), a);
    await redis.client.hset(keys.intents.unknown, a, listed);
    await redis.client.zadd(keys.intents.unknownAt, Date.now(), a);
    expect(await apply(rule)).toEqual([]);
    expect(await left()).toEqual([[b, a], 19]);
    expect(await apply(`${rule}; code A: accepted`)).toEqual([['code A: accepted', 11]]);
    expect(await left()).toEqual([[b], 9]);
  });

  it('what a rule cannot send again now is not decided by a later one', async () => {
    const { batch, apply, left } = await inDoubt();
    await batch.ledger.redrive('list', '1.1', 'unknown');
    await batch.ledger.control('list', 'pause');
    expect(await apply('code A and template T: resend once; template T: accepted')).toEqual([]);
    expect((await left())[1]).toBe(10);
    await batch.ledger.control('list', 'resume');
    const rules = 'code A and template T: resend once; template T: accepted';
    expect(await apply(rules)).toEqual([['code A and template T: resend once', 10]]);
  });

  it('decide nothing while Redis is held as an old copy', async () => {
    const { keys, apply, left } = await inDoubt();
    await redis.client.hset(keys.hold, { kind: 'restored', since: 1, nextProbeAt: 1 });
    expect(await apply('code A: accepted')).toEqual([]);
    expect((await left())[1]).toBe(19);
  });
});

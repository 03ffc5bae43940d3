import { describe, expect, it } from 'vitest';
import { allFailed } from '../../../src/batch/ledger/settlement.ts';
import { readAudit } from '../../../src/ops/audit.ts';
import { unknownNotices } from '../../support/unknown-notices.ts';
import { acceptOldUnknown } from '../../../src/ops/chores/accept-old.ts';
import { buildBatch, contacts, part } from '../../batch/support/built-batch.ts';
import { testRedis } from '../../support/redis.ts';
import { parkNotice } from '../support/parked-notice.ts';
import { endedThen } from '../support/failed-notices.ts';

const redis = testRedis();
const HOUR = 3_600_000;

/** A notice with code A, one with B, and a batch with ten unknown contacts of A and nine of B. */
async function inDoubt() {
  const { prefix, keys } = redis.account();
  const a = await parkNotice(redis, {}, prefix, undefined, { code: 'A' });
  const b = await parkNotice(redis, {}, prefix, undefined, { code: 'B' });
  const batch = await buildBatch(redis.client, prefix, 'list', [contacts(10), contacts(10, 10)]);
  await batch.settle(0, allFailed('unknown', 'A', ''));
  const failed = [await part('unknown', 'B', contacts(9, 11))];
  await batch.settle(1, { accepted: 1, failed });
  const context = { redis: redis.client, keys, ledger: batch.ledger };
  const accept = (olderThanMs: number) => acceptOldUnknown(context, olderThanMs);
  const left = async () => [
    (await unknownNotices({ redis: redis.client, keys })).map(({ id }) => id),
    (await batch.read()).counts.unknown,
  ];
  const makeOlder = (id: string, ms: number) => endedThen(redis.client, keys, id, Date.now() - ms);
  return { keys, a: a.id, b: b.id, batch, accept, left, makeOlder };
}

describe('unknown outcomes that count as accepted', () => {
  it('are those older than the setting by the clock of Redis, each recorded', async () => {
    const { keys, a, b, accept, left, makeOlder } = await inDoubt();
    await makeOlder(a, 25 * HOUR);
    expect(await accept(24 * HOUR)).toMatchObject({ done: 1, contacts: 1 });
    expect(await left()).toEqual([[b], 19]);
    const entries = await readAudit(redis.client, keys, 10);
    expect(entries.map(({ who, what, target, as, why }) => [who, what, target, as, why])).toEqual([
      ['UNKNOWN_ACCEPTED_AFTER_MS', 'decide', a, 'accepted unknown', 'unknown for longer than 1d'],
    ]);
    expect(await accept(24 * HOUR)).toMatchObject({ done: 0 });
  });

  it('are contacts of batches, too; only batches that have unknown contacts are read', async () => {
    const { keys, batch, accept, left } = await inDoubt();
    const { begunAt } = await batch.read();
    const filling = redis.client.pipeline();
    for (let index = 1; index <= 300; index++) {
      const id = `later-${index}`;
      filling.hset(keys.batch(id).record, { id, phase: 'finished', begunAt });
      filling.zadd(keys.batches, begunAt + index, id);
    }
    await filling.exec();
    await redis.client.config('RESETSTAT');
    expect(await accept(-HOUR)).toMatchObject({ contacts: 21 });
    const stats = await redis.client.info('commandstats');
    const records = Number(/^cmdstat_hgetall:calls=(\d+)/m.exec(stats)?.[1] ?? 0);
    expect(records).toBeLessThan(20);
    expect(await left()).toEqual([[], 0]);
    expect((await batch.read()).counts).toMatchObject({ accepted: 20, unknown: 0 });
  });

  it('are none while Redis is held as an old copy', async () => {
    const { keys, accept, left } = await inDoubt();
    await redis.client.hset(
      keys.hold,
      'queue',
      JSON.stringify({ kind: 'restored', since: 1, next: 1 }),
    );
    expect(await accept(-HOUR)).toBeUndefined();
    expect((await left())[1]).toBe(19);
  });
});

import { expect, it, onTestFinished } from 'vitest';
import { AlertCollector } from '../../../src/ops/alerts/alert-collector.ts';
import { keysOf } from '../../../src/redis/keys.ts';
import { testRedis } from '../../support/redis.ts';

const redis = testRedis();

/** As many events as the stream keeps at least. */
const KEPT = 10_000;

it('one round reads all batch events that are kept, so that rejected parts displace no end unread', async () => {
  const keys = keysOf(redis.freshPrefix(), 'default');
  const collector = new AlertCollector(redis.client, keys, 604_800_000);
  onTestFinished(() => collector.close());
  const first = await collector.collect(undefined);
  expect(first.batchEvents).toEqual([]);
  const rejected = {
    event: 'contact.rejected',
    batch: 'b',
    failure: '0.1',
    contacts: 1,
    code: 'X',
  };
  const pipeline = redis.client.pipeline();
  for (let event = 1; event < KEPT; event += 1) {
    pipeline.xadd(keys.batchEvents, '*', ...Object.entries(rejected).flat());
  }
  pipeline.xadd(keys.batchEvents, '*', 'event', 'batch.finished', 'batch', 'b', 'total', 1);
  await pipeline.exec();
  const { now: lookedAt, cursor } = first;
  const unknown = { notices: 0, contacts: 0, seenContacts: 0, toldAt: 0 };
  const memory = { lookedAt, aloneSince: 0, keptSeenAt: lookedAt, cursor, told: {}, unknown };
  const { batchEvents, cursor: last } = await collector.collect(memory);
  expect(batchEvents).toHaveLength(KEPT);
  expect(batchEvents.at(-1)).toMatchObject({ event: 'batch.finished', batch: 'b', cursor: last });
});

it('of failed notices, only those that are deleted soon are counted', async () => {
  const keys = keysOf(redis.freshPrefix(), 'default');
  const day = 24 * 3_600_000;
  const collector = new AlertCollector(redis.client, keys, 7 * day);
  onTestFinished(() => collector.close());
  const at = Date.now();
  await redis.client.zadd(
    keys.failedNotices,
    at - 6 * day,
    'old',
    at - 5 * day,
    'newer',
    at,
    'new',
  );
  expect((await collector.collect(undefined)).kept?.near).toEqual([
    { batch: '', count: 1, keptUntil: at + day },
  ]);
  await redis.client.zrem(keys.failedNotices, 'old');
  expect((await collector.collect(undefined)).kept?.near).toEqual([]);
});

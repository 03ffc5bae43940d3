import { expect, it } from 'vitest';
import { queueChunks } from '../../../src/batch/import/queue-chunks.ts';
import { CHUNK_QUEUE_NAME, keysOf } from '../../../src/redis/keys.ts';
import { buildBatch, contacts } from '../../batch/support/built-batch.ts';
import { numbers, fleetOn } from '../../support/fleet.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { bullQueue } from '../../support/bull-queue.ts';

const redis = testRedis();

it('a notice overtakes a batch, and the batch moves however many notices there are', async () => {
  const prefix = redis.freshPrefix();
  const on = await fleetOn(redis, {
    prefix,
    env: { CONCURRENCY: '4', BATCH_CONCURRENCY: '4' },
    emulator: { latencyMs: 25 },
  });
  const chunks = contacts(1_500).map((contact) => [contact]);
  const plan = { frame: '{"templateCode":"BATCH","scheduleType":"DIRECTLY"}' };
  const batch = await buildBatch(redis.client, prefix, 'long', chunks, { plan });
  const queue = bullQueue(CHUNK_QUEUE_NAME, redis.client, keysOf(prefix, 'default'));
  await queueChunks(batch.ledger, queue, 'long');
  const accepted = async () => (await batch.read()).counts.accepted;
  await until(async () => (await accepted()) > 20, { what: 'the batch to move' });

  // Handed over after the whole batch, and sent long before its end.
  const before = await accepted();
  await on.sendEach(['01099990001']);
  const isThere = () =>
    [...on.emulator.contacts()].some(({ contact }) => contact === '01099990001');
  await until(isThere, { what: 'the notice', everyMs: 5 });
  expect((await accepted()) - before).toBeLessThan(100);
  expect(await accepted()).toBeLessThan(1_500);

  // A load of notices that never ends while we look: the batch goes on all the same.
  await on.sendEach(numbers(2_000, 500_000));
  const wanted = Math.min(1_500, (await accepted()) + 200);
  await until(async () => (await accepted()) >= wanted, {
    what: 'the batch to move under a load of notices',
    deadlineMs: 20_000,
  });
  // Both were still under way: neither had to wait for the other's end.
  expect(on.emulator.record().contacts).toBeLessThan(1_500 + 1 + 2_000);
}, 60_000);

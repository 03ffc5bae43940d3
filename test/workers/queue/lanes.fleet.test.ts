import type { Queue } from 'bullmq';
import { afterEach, describe, expect, it } from 'vitest';
import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import { encodePayload } from '../../../src/payload/chunk-payload.ts';
import { queueChunks } from '../../../src/batch/import/queue-chunks.ts';
import { CHUNK_QUEUE_NAME, keysOf } from '../../../src/redis/keys.ts';
import { openBullQueue } from '../../../src/redis/open-queue.ts';
import { numbers, startFleet, type Fleet } from '../../support/fleet.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';

describe('notices and batches side by side', () => {
  const redis = testRedis();
  let fleet: Fleet | undefined;
  let queue: Queue | undefined;

  afterEach(async () => {
    await queue?.close();
    await fleet?.close();
    fleet = undefined;
  });

  it('a notice overtakes a batch, and the batch moves however many notices there are', async () => {
    const prefix = redis.freshPrefix();
    const on = await startFleet({
      redisUrl: redis.url,
      prefix,
      processes: 1,
      env: { CONCURRENCY: '4', BATCH_CONCURRENCY: '4' },
      emulator: { latencyMs: 25 },
    });
    fleet = on;
    const keys = keysOf(prefix, 'default');
    const ledger = new Ledger(redis.client, keys);
    queue = openBullQueue(CHUNK_QUEUE_NAME, redis.connect({ name: 'chunks' }), keys);

    const plan = {
      frame: JSON.stringify({ templateCode: 'BATCH', scheduleType: 'DIRECTLY' }),
      templateCode: 'BATCH',
      chunkSize: 1,
      delivery: 'at-least-once',
      expiresAt: 0,
      rate: 0,
      bisect: true,
    } as const;
    await ledger.start('long', plan, 'f', 3_600_000);
    for (const [chunk, contact] of numbers(1_500).entries()) {
      const payload = await encodePayload(JSON.stringify([{ contact }]));
      await ledger.store('long', { chunk, size: 1, rows: chunk + 1, payload });
    }
    await ledger.endImport('long', 0, 0);
    await queueChunks(ledger, queue, 'long');
    const accepted = async () => (await ledger.read('long'))?.counts.accepted ?? 0;
    await until(async () => (await accepted()) > 20, { what: 'the batch to move' });

    // Handed over after the whole batch, and sent long before its end.
    const before = await accepted();
    await on.sendEach(['01099990001']);
    const isThere = () =>
      [...on.emulator.contacts()].some(({ contact }) => contact === '01099990001');
    await until(isThere, { what: 'the notice', everyMs: 5 });
    const meanwhile = (await accepted()) - before;
    expect(meanwhile).toBeLessThan(100);
    expect(await accepted()).toBeLessThan(1_500);

    // A load of notices that never ends while we look: the batch goes on all the same.
    await on.sendEach(numbers(2_000, 500_000));
    const from = await accepted();
    await until(async () => (await accepted()) >= Math.min(1_500, from + 200), {
      what: 'the batch to move under a load of notices',
      deadlineMs: 20_000,
    });
    // Both were still under way: neither had to wait for the other's end.
    expect(on.emulator.record().contacts).toBeLessThan(1_500 + 1 + 2_000);
  }, 60_000);
});

import { hintChannel } from '../../../src/redis/hints.ts';
import { describe, expect, it } from 'vitest';
import { testRedis } from '../../support/redis.ts';
import { openBatch, PLAN, type BatchBench } from '../support/batch-bench.ts';

const redis = testRedis();

describe('control', () => {
  it('gives all chunks jobs again at a resume, and notifies the workers', async () => {
    const bench = await openBatch(redis, {}, [10, 10]);
    expect(await bench.queue()).toEqual([0, 1]);
    const received: string[] = [];
    const subscriber = redis.connect();
    await subscriber.subscribe(hintChannel(subscriber, bench.keys.batchHints));
    subscriber.on('message', (_, text) => received.push(text));
    await bench.ledger.control(bench.id, 'pause');
    expect(await bench.queue()).toBeUndefined();
    await bench.setField('movedAt', 1);
    await bench.ledger.control(bench.id, 'resume');
    expect(await bench.queue()).toEqual([0, 1]);
    expect((await bench.batch()).movedAt).toBeGreaterThan(1);
    // The reply comes on the subscriber's own connection, so after every hint.
    await subscriber.ping();
    expect(received).toEqual([bench.id]);
  });

  it('takes the same few commands, whatever the number of chunks', async () => {
    const small = await openBatch(redis, { chunkSize: 1 }, [], false);
    const big = await openBatch(redis, { chunkSize: 1 }, [], false);
    await storeMany(small, 3);
    await storeMany(big, 20_000);
    expect((await big.batch()).counts.pending).toBe(20_000);
    for (const verb of ['pause', 'resume', 'pause', 'cancel'] as const) {
      const [few, many] = [await commandsOf(small, verb), await commandsOf(big, verb)];
      expect(many).toBe(few);
      expect(many).toBeLessThan(50);
    }
    expect(await big.counts()).toMatchObject({ cancelled: 20_000 });
  }, 60_000);
});

/** Stores chunks of one contact in a few round trips, and ends the import. */
async function storeMany(bench: BatchBench, chunks: number): Promise<void> {
  for (let from = 0; from < chunks; from += 5_000) {
    const window = Array.from({ length: Math.min(5_000, chunks - from) }, (_, at) => from + at);
    const payload = Buffer.from(PLAN.templateCode);
    const stored = await Promise.all(
      window.map((chunk) =>
        bench.ledger.store(bench.id, { chunk, size: 1, rows: chunk + 1, payload }),
      ),
    );
    expect(stored.every((result) => result === 'stored')).toBe(true);
  }
  await bench.ledger.endImport(bench.id, 0, 0);
}

/** How many commands the server ran for it, those inside of scripts included. */
async function commandsOf(bench: BatchBench, verb: 'pause' | 'resume' | 'cancel'): Promise<number> {
  const count = async () => {
    const stats = await redis.client.info('commandstats');
    // What a server runs by itself, for replicas or its own health, is none of it.
    const calls = stats.matchAll(/^cmdstat_(?!info|ping|replconf|client)[^:]*:calls=(\d+)/gm);
    return [...calls].reduce((sum, [, number]) => sum + Number(number), 0);
  };
  const before = await count();
  expect(await bench.ledger.control(bench.id, verb)).toMatchObject({ done: true });
  return (await count()) - before;
}

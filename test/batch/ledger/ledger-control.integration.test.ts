import { hintChannel } from '../../../src/redis/hints.ts';
import { describe, expect, it } from 'vitest';
import type { BatchPhase } from '../../../src/batch/ledger/batch-record.ts';
import { allAccepted, allBack } from '../../../src/batch/ledger/settlement.ts';
import { testRedis } from '../../support/redis.ts';
import { eventNames, openBatch, PLAN } from '../support/batch-bench.ts';
import type { BatchBench } from '../support/batch-bench.ts';

const redis = testRedis();

type Verb = 'pause' | 'resume' | 'cancel';

/** A batch of two chunks of ten contacts in each phase. */
async function inPhase(phase: BatchPhase): Promise<BatchBench> {
  const bench = await openBatch(redis, {}, [10, 10], phase !== 'importing');
  if (phase === 'paused') await bench.ledger.control(bench.id, 'pause');
  if (phase === 'cancelled') await bench.ledger.control(bench.id, 'cancel');
  if (phase === 'finished') {
    for (const chunk of [0, 1]) {
      await bench.claim(chunk);
      await bench.settle(chunk, allAccepted(10));
    }
  }
  expect(await bench.batch()).toMatchObject({ phase });
  return bench;
}

const ROWS: readonly (readonly [BatchPhase, Verb, boolean, BatchPhase])[] = [
  ['importing', 'pause', true, 'paused'],
  ['importing', 'resume', true, 'importing'],
  ['importing', 'cancel', true, 'cancelled'],
  ['sending', 'pause', true, 'paused'],
  ['sending', 'resume', true, 'sending'],
  ['sending', 'cancel', true, 'cancelled'],
  ['paused', 'pause', true, 'paused'],
  ['paused', 'resume', true, 'sending'],
  ['paused', 'cancel', true, 'cancelled'],
  ['cancelled', 'pause', false, 'cancelled'],
  ['cancelled', 'resume', false, 'cancelled'],
  ['cancelled', 'cancel', true, 'cancelled'],
  ['finished', 'pause', false, 'finished'],
  ['finished', 'resume', false, 'finished'],
  ['finished', 'cancel', false, 'finished'],
];

describe('control', () => {
  it.each(ROWS)('%s, %s: done %s, then %s', async (phase, verb, done, after) => {
    const bench = await inPhase(phase);
    const ends = (await eventNames(bench)).length;
    for (let times = 0; times < 2; times += 1) {
      expect(await bench.ledger.control(bench.id, verb)).toEqual({ done, phase: after });
      expect(await bench.batch()).toMatchObject({ phase: after });
    }
    const over = after === 'cancelled' ? 'cancelled' : 'pending';
    expect(await bench.counts()).toEqual(after === 'finished' ? { accepted: 20 } : { [over]: 20 });
    const cancels = after === 'cancelled' && phase !== 'cancelled' ? 1 : 0;
    expect(await eventNames(bench)).toHaveLength(ends + cancels);
  });

  it('answers nothing where there is no batch', async () => {
    const bench = await openBatch(redis);
    expect(await bench.ledger.control('b-2', 'pause')).toBeUndefined();
  });

  it('lets requests under way finish, and refuses further claims', async () => {
    const bench = await openBatch(redis, {}, [10, 10]);
    await bench.claim(0);
    await bench.ledger.control(bench.id, 'pause');
    expect(await bench.claimKind(1)).toBe('paused');
    expect(await bench.settle(0, allAccepted(10))).toBe('settled');
    expect(await bench.counts()).toEqual({ accepted: 10, pending: 10 });
  });

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

  it('continues importing after a pause during the import', async () => {
    const bench = await openBatch(redis, {}, [10], false);
    await bench.ledger.control(bench.id, 'pause');
    expect(await bench.store()).toBe('stored');
    expect(await bench.ledger.control(bench.id, 'resume')).toEqual({
      done: true,
      phase: 'importing',
    });
    expect(await bench.store()).toBe('stored');
  });

  it('is sending after the import ended in a pause', async () => {
    const bench = await openBatch(redis, {}, [10], false);
    await bench.ledger.control(bench.id, 'pause');
    await bench.ledger.endImport(bench.id, 0, 0);
    expect(await bench.batch()).toMatchObject({ phase: 'paused' });
    expect(await bench.ledger.control(bench.id, 'resume')).toEqual({
      done: true,
      phase: 'sending',
    });
  });

  it('finishes at the resume what was settled in the pause', async () => {
    const bench = await openBatch(redis, {}, [10]);
    await bench.claim(0);
    await bench.ledger.control(bench.id, 'pause');
    await bench.settle(0, allAccepted(10));
    expect(await bench.batch()).toMatchObject({ phase: 'paused', finishedAt: 0 });
    expect(await bench.ledger.control(bench.id, 'resume')).toEqual({
      done: true,
      phase: 'finished',
    });
    expect(await eventNames(bench)).toEqual(['batch.finished']);
  });

  it('cancels an import: nothing more is stored, and its end changes nothing', async () => {
    const bench = await openBatch(redis, {}, [10, 7], false);
    expect(await bench.ledger.control(bench.id, 'cancel')).toEqual({
      done: true,
      phase: 'cancelled',
    });
    expect(await bench.store()).toBe('gone');
    expect(
      await bench.ledger.store(bench.id, {
        chunk: 0,
        size: 10,
        rows: 10,
        payload: Buffer.from('x'),
      }),
    ).toBe('gone');
    await bench.ledger.endImport(bench.id, 1, 1);
    expect(await bench.batch()).toMatchObject({ phase: 'cancelled', refusedRows: 0 });
    expect(await bench.counts()).toEqual({ cancelled: 17 });
    expect(await bench.events()).toMatchObject([
      { event: 'batch.finished', phase: 'cancelled', total: '17', cancelled: '17' },
    ]);
  });

  it('counts possibly sent contacts of a cancelled batch as unknown, and ends after attempts under way', async () => {
    const bench = await openBatch(redis, {}, [10, 10, 10]);
    await bench.claim(0);
    await bench.settle(0, allBack(10, true));
    await bench.claim(1);
    await bench.setField('movedAt', 1);
    await bench.ledger.control(bench.id, 'cancel');
    expect((await bench.batch()).movedAt).toBeGreaterThan(1);
    expect(await bench.counts()).toEqual({
      unknown: 10,
      cancelled: 10,
      pending: 10,
      sending: 10,
    });
    expect(await bench.batch()).toMatchObject({ finishedAt: 0 });
    await bench.settle(1, allAccepted(10));
    expect(await bench.counts()).toEqual({ unknown: 10, cancelled: 10, accepted: 10 });
    expect(await eventNames(bench)).toEqual(['batch.finished']);
  });

  it('does not count as unknown what was accepted before the cancel', async () => {
    const bench = await openBatch(redis, {}, [10, 10, 10]);
    for (const chunk of [0, 1]) {
      await bench.claim(chunk);
      await bench.settle(chunk, allBack(10, true));
    }
    await bench.claim(0, 'b');
    await bench.settle(0, allAccepted(10), 'b');
    await bench.setField('expiresAt', 1);
    expect(await bench.claimKind(1, 'b')).toBe('expired');
    await bench.ledger.control(bench.id, 'cancel');
    expect(await bench.counts()).toEqual({
      accepted: 10,
      unknown: 10,
      cancelled: 10,
      possiblySentTwice: 10,
    });
  });

  it('counts a possibly sent chunk that was requeued during a pause as unknown', async () => {
    const bench = await openBatch(redis, {}, [10, 10]);
    await bench.claim(0, 'dead');
    await bench.ledger.control(bench.id, 'pause');
    expect(await bench.claimKind(0, 'b')).toBe('paused');
    await bench.ledger.control(bench.id, 'cancel');
    expect(await bench.counts()).toEqual({ unknown: 10, cancelled: 10 });
  });

  it('takes the same few commands, whatever the number of chunks', async () => {
    const small = await openBatch(redis, { chunkSize: 1 }, [], false);
    const big = await openBatch(redis, { chunkSize: 1 }, [], false);
    await storeMany(small, 3);
    await storeMany(big, 100_000);
    expect((await big.batch()).counts.pending).toBe(100_000);
    for (const verb of ['pause', 'resume', 'pause', 'cancel'] as const) {
      const [few, many] = [await commandsOf(small, verb), await commandsOf(big, verb)];
      expect(many).toBe(few);
      expect(many).toBeLessThan(50);
    }
    expect(await big.counts()).toMatchObject({ cancelled: 100_000 });
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
async function commandsOf(bench: BatchBench, verb: Verb): Promise<number> {
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

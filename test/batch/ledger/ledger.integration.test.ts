import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import { allBack, allFailed } from '../../../src/batch/ledger/settlement.ts';
import { readPossiblySentTwice } from '../../../src/fleet/possibly-sent-twice.ts';
import { hintChannel } from '../../../src/redis/hints.ts';
import { holdNextScript } from '../../support/held-script.ts';
import { testRedis } from '../../support/redis.ts';
import { openBatch, payloadOf, PLAN, type BatchBench } from '../support/batch-bench.ts';

/** What the model (ledger-model) does not know: answers in full, times, rates, hints and costs. */

const redis = testRedis();

describe('claim', () => {
  it('returns everything that one send request needs', async () => {
    const bench = await openBatch(redis, { bisect: false }, [3]);
    expect(await bench.claim(0)).toEqual({
      kind: 'send',
      frame: PLAN.frame,
      payload: payloadOf(0),
      size: 3,
      possiblySent: 0,
      traceIds: [],
      root: 0,
      delivery: 'at-least-once',
      bisect: false,
    });
    expect(await bench.claim(0, 'b')).toMatchObject({ possiblySent: 1, size: 3 });
    // Repeated, for its answer was lost.
    expect(await bench.claim(0, 'b')).toMatchObject({ possiblySent: 1, size: 3 });
    await bench.settle(0, allFailed('rejected', 'C', ''), 'b');
    expect(await bench.counts()).toEqual({ unknown: 3 });
  });

  it('goes on at its rate after a clock that went back an hour', async () => {
    const bench = await openBatch(redis, { rate: 10 }, [10, 10, 10]);
    await bench.claim(0);
    const inAnHour = Date.now() + 3_600_000;
    await bench.setFields({ nextAt: inAnHour, turnsTo: inAnHour, movedAt: inAnHour });
    expect(await bench.claimKind(1)).toBe('send');
    expect(await bench.claim(2)).toMatchObject({ kind: 'later' });
    expect((await bench.batch()).nextAt).toBeLessThanOrEqual(Date.now() + 1_000);
  });

  it('finishes a batch whose contacts were deleted', async () => {
    const bench = await openBatch(redis, {}, [10]);
    await redis.client.del(bench.keys.batch(bench.id).payload);
    expect(await bench.claimKind(0)).toBe('parked');
    const failure = { state: 'unknown', code: 'PAYLOAD_UNREADABLE' };
    expect(await bench.failures()).toMatchObject([failure]);
    expect(await bench.batch()).toMatchObject({ phase: 'finished' });
  });

  it('after the deadline leaves as unknown what was possibly sent; the rest has expired', async () => {
    const bench = await openBatch(redis, {}, [10, 4]);
    await bench.claim(1);
    await bench.setFields({ expiresAt: 1 });
    for (const chunk of [0, 1]) await bench.claim(chunk, 'b');
    expect(await bench.failures()).toMatchObject([
      { name: '0', state: 'expired', code: 'EXPIRED' },
      { name: '1', state: 'unknown', code: 'EXPIRED' },
    ]);
  });

  it('records when the batch last changed', async () => {
    const bench = await openBatch(redis, {}, [10, 10]);
    const claim = () => bench.claim(0);
    const settle = () => bench.settle(0, allBack(false));
    const expire = () => bench.setFields({ expiresAt: 1 }).then(claim);
    for (const move of [claim, settle, expire]) {
      await bench.setFields({ movedAt: 1 });
      await move();
      expect((await bench.batch()).movedAt).toBeGreaterThan(1);
    }
  });
});

const halve = (bench: BatchBench, first: number) =>
  bench.ledger.halve(bench.id, 0, 'a', first, [Buffer.from('first'), Buffer.from('second')]);

it.each([0, 10])('a chunk of ten contacts is not halved after %d', async (first) => {
  const bench = await openBatch(redis, {}, [10, 10]);
  await bench.claim(0);
  await expect(halve(bench, first)).rejects.toThrow('settle failed');
  expect(await bench.counts()).toEqual({ pending: 20, sending: 10 });
  expect(await bench.batch()).toMatchObject({ chunks: 2 });
});

it.each<readonly [string, (bench: BatchBench) => Promise<unknown>, number[]]>([
  ['a resume', ({ ledger, id }) => ledger.control(id, 'resume'), [0, 1]],
  ['halves', (bench) => halve(bench, 4), [2, 3]],
])('of %s the workers are notified: chunks need jobs', async (name, act, chunks) => {
  const bench = await openBatch(redis, {}, [10, 10]);
  expect(await bench.queue()).toEqual([0, 1]);
  await bench.claim(0);
  const received: string[] = [];
  const subscriber = redis.connect();
  await subscriber.subscribe(hintChannel(subscriber, bench.keys.batchHints));
  subscriber.on('message', (_, text) => received.push(text));
  if (name === 'a resume') await bench.ledger.control(bench.id, 'pause');
  expect(await bench.queue()).toBeUndefined();
  await bench.setFields({ movedAt: 1 });
  await act(bench);
  expect(await bench.queue()).toEqual(chunks);
  expect((await bench.batch()).movedAt).toBeGreaterThan(1);
  // The reply comes on the subscriber's own connection, so after every hint.
  await subscriber.ping();
  expect(received).toEqual([bench.id]);
});

describe('redrive', () => {
  it('is done also where the hint for the workers is not taken', async () => {
    const bench = await openBatch(redis, {}, [7]);
    await bench.settleNew(0, allFailed('rejected', 'CODE', ''));
    const username = `mute-${bench.keys.bullPrefix}`;
    await redis.client.acl('SETUSER', username, 'on', '>mute', '+@all', '~*', 'resetchannels');
    const mute = new Redis(redis.url, { username, password: 'mute' });
    onTestFinished(async () => {
      mute.disconnect();
      await redis.client.acl('DELUSER', username);
    });
    const ledger = new Ledger(mute, bench.keys);
    expect(await ledger.redrive(bench.id, '0', 'rejected')).toBe('redriven');
    expect(await bench.counts()).toEqual({ pending: 7 });
  });

  it('counts what was possibly sent twice, for the account, as soon as the batch has it', async () => {
    const bench = await openBatch(redis, { delivery: 'at-most-once' }, [7]);
    await bench.settleNew(0, allFailed('unknown', 'CODE', ''));
    const total = async () => (await readPossiblySentTwice(redis.client, bench.keys)).chunks;
    expect(await total()).toBe(0);
    // The script must be in Redis.
    expect(await bench.ledger.redrive(bench.id, '0', 'rejected')).toBe('known');
    const reply = holdNextScript(redis.client);
    const redriven = bench.ledger.redrive(bench.id, '0', 'unknown');
    await reply.answered;
    // A command that is killed here does nothing more.
    expect([await total(), (await bench.batch()).counts.possiblySentTwice]).toEqual([7, 7]);
    reply.letGo();
    expect([await redriven, await total()]).toEqual(['redriven', 7]);
  });
});

it('control takes the same few commands, whatever the number of chunks', async () => {
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

/** Stores chunks of one contact in a few round trips, and ends the import. */
async function storeMany({ ledger, id }: BatchBench, chunks: number): Promise<void> {
  const payload = Buffer.from('x');
  for (let from = 0; from < chunks; from += 5_000) {
    const window = Array.from({ length: Math.min(5_000, chunks - from) }, (_, at) => from + at);
    const stored = await Promise.all(
      window.map((chunk) => ledger.store(id, { chunk, size: 1, rows: chunk + 1, payload })),
    );
    expect(stored.every((result) => result === 'stored')).toBe(true);
  }
  await ledger.endImport(id, 0, 0);
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

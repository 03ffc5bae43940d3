import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import type { FailureRecord } from '../../../src/batch/ledger/ledger-reader.ts';
import { allAccepted, allFailed } from '../../../src/batch/ledger/settlement.ts';
import { readPossiblySentTwice } from '../../../src/fleet/possibly-sent-twice.ts';
import { holdNextScript } from '../../support/held-script.ts';
import { testRedis } from '../../support/redis.ts';
import { AT_MOST_ONCE, openBatch, payloadOf, RETENTION_MS } from '../support/batch-bench.ts';
import type { BatchBench } from '../support/batch-bench.ts';

const redis = testRedis();

/** A finished batch whose only chunk failed. */
async function failed(state: FailureRecord['state'], plan = {}): Promise<BatchBench> {
  const bench = await openBatch(redis, plan, [7]);
  await bench.claim(0);
  await bench.settle(0, allFailed(7, state, 'CODE', 'message'));
  expect(await bench.counts()).toEqual({ [state]: 7 });
  return bench;
}

const finishes = async (bench: BatchBench) =>
  (await bench.events()).filter(({ event }) => event === 'batch.finished').length;

const ttls = async (bench: BatchBench) =>
  Promise.all(Object.values(bench.keys.batch(bench.id)).map((key) => redis.client.pttl(key)));

describe('redrive', () => {
  it('is done also where the hint for the workers is not taken', async () => {
    const bench = await failed('rejected');
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

  it.each(['rejected', 'unknown', 'expired'] as const)(
    'of what is %s makes a new chunk of it, once',
    async (state) => {
      const bench = await failed(state, AT_MOST_ONCE);
      for (const other of (['rejected', 'unknown', 'expired'] as const).filter(
        (o) => o !== state,
      )) {
        expect(await bench.ledger.redrive(bench.id, '0', other)).toBe('known');
      }
      expect(await bench.ledger.redrive(bench.id, '0', state, 'OTHER')).toBe('known');
      expect(await bench.counts()).toEqual({ [state]: 7 });

      expect(await bench.ledger.redrive(bench.id, '0', state, 'CODE')).toBe('redriven');
      expect(await bench.ledger.redrive(bench.id, '0', state)).toBe('known');
      expect(await bench.batch()).toMatchObject({ phase: 'sending', chunks: 2, finishedAt: 0 });
      // Only what may have been taken may arrive twice.
      const twice = state === 'unknown' ? { possiblySentTwice: 7 } : {};
      expect(await bench.counts()).toEqual({ pending: 7, ...twice });
      expect(await bench.failures()).toEqual([]);
      expect(await bench.ledger.states(bench.id, 0, 2)).toEqual(['settled', 'pending']);
      expect(await bench.payload(0)).toBeUndefined();

      expect(await bench.claim(1, 'b')).toMatchObject({
        kind: 'send',
        payload: payloadOf(0),
        size: 7,
        possiblySent: 0,
      });
      await bench.settle(1, allAccepted(7), 'b');
      expect(await bench.counts()).toEqual({ accepted: 7, ...twice });
      expect(await finishes(bench)).toBe(2);
    },
  );

  it('gives the new chunk a job like any other', async () => {
    const bench = await failed('rejected');
    await bench.queue();
    await bench.setField('movedAt', 1);
    await bench.ledger.redrive(bench.id, '0', 'rejected');
    expect((await bench.batch()).movedAt).toBeGreaterThan(1);
    expect(await bench.queue()).toEqual([1]);
  });

  it('takes a part by its name and leaves the others', async () => {
    const bench = await openBatch(redis, {}, [10]);
    await bench.claim(0);
    await bench.settle(0, {
      accepted: 7,
      failed: [
        { state: 'rejected', size: 1, code: 'A', message: '', payload: Buffer.from('one') },
        { state: 'rejected', size: 2, code: 'B', message: '', payload: Buffer.from('two') },
      ],
    });
    expect(await bench.ledger.redrive(bench.id, '0.2', 'rejected')).toBe('redriven');
    expect(await bench.counts()).toEqual({ accepted: 7, rejected: 1, pending: 2 });
    expect(await bench.claim(1)).toMatchObject({ payload: Buffer.from('two'), size: 2 });
    expect((await bench.failures()).map(({ name }) => name)).toEqual(['0.1']);
  });

  it('keeps a deadline, and is refused once it has passed', async () => {
    const bench = await openBatch(redis, {}, [10, 5]);
    await bench.claim(1);
    await bench.settle(1, allFailed(5, 'rejected', 'C', ''));
    await bench.setField('expiresAt', Date.now() + 3_600_000);
    expect(await bench.ledger.redrive(bench.id, '1', 'rejected')).toBe('redriven');
    await bench.setField('expiresAt', 1);
    expect(await bench.claimKind(0)).toBe('expired');
    expect(await bench.claimKind(2)).toBe('expired');
    expect(await bench.ledger.redrive(bench.id, '0', 'expired')).toBe('late');
    expect(await bench.counts()).toEqual({ expired: 15 });
  });

  it.each(['importing', 'paused', 'cancelled'] as const)('is refused while %s', async (phase) => {
    const bench = await openBatch(redis, {}, [10, 10], phase !== 'importing');
    await bench.claim(0);
    await bench.settle(0, allFailed(10, 'rejected', 'C', ''));
    if (phase === 'paused') await bench.ledger.control(bench.id, 'pause');
    if (phase === 'cancelled') await bench.ledger.control(bench.id, 'cancel');
    const before = await bench.counts();
    expect(await bench.ledger.redrive(bench.id, '0', 'rejected')).toBe(phase);
    expect(await bench.counts()).toEqual(before);
    expect(await bench.batch()).toMatchObject({ phase });
  });

  it('of a held template is done while the list is imported, which goes on', async () => {
    const bench = await openBatch(redis, {}, [10, 10], false);
    await bench.claim(0);
    await bench.settle(0, allFailed(10, 'rejected', 'C', ''));
    expect(await bench.ledger.redrive(bench.id, '0', 'rejected', '', true)).toBe('redriven');
    expect(await bench.batch()).toMatchObject({ phase: 'importing', chunks: 3, chunksOfList: 2 });
    expect(await bench.store(10)).toBe('stored');
    expect(await bench.batch()).toMatchObject({ phase: 'importing', chunks: 4, chunksOfList: 3 });
    expect(await bench.claim(2, 'b')).toMatchObject({ kind: 'send', size: 10 });
    expect(await bench.counts()).toEqual({ pending: 30, sending: 10 });
  });

  it('of a held template is done while the list is paused: it waits, and is sent after a resume', async () => {
    const bench = await openBatch(redis, {}, [10, 10]);
    await bench.queue();
    await bench.claim(0);
    await bench.settle(0, allFailed(10, 'rejected', 'C', ''));
    await bench.ledger.control(bench.id, 'pause');
    expect(await bench.ledger.redrive(bench.id, '0', 'rejected', '', true)).toBe('redriven');
    expect(await bench.batch()).toMatchObject({ phase: 'paused' });
    expect(await bench.counts()).toEqual({ pending: 20 });
    await bench.ledger.control(bench.id, 'resume');
    expect(await bench.queue()).toEqual([1, 2]);
  });

  it('is nothing where the failure, its contacts or the batch are gone', async () => {
    const bench = await failed('rejected');
    expect(await bench.ledger.redrive(bench.id, '1', 'rejected')).toBe('known');
    expect(await bench.ledger.redrive('b-2', '0', 'rejected')).toBe('gone');
    await redis.client.del(bench.keys.batch(bench.id).payload);
    expect(await bench.ledger.redrive(bench.id, '0', 'rejected')).toBe('known');
    expect(await bench.counts()).toEqual({ rejected: 7 });
  });
});

describe('retention', () => {
  it('starts for every key of a batch at its end, stops at a redrive and starts again', async () => {
    const bench = await openBatch(redis, {}, [10, 7]);
    await bench.claim(0);
    await bench.claim(1);
    await bench.settle(1, allFailed(7, 'rejected', 'C', ''));
    expect(await ttls(bench)).toEqual([-1, -1, -1, -1, -1, -1, -1]);
    await bench.settle(0, allFailed(10, 'rejected', 'C', ''));
    expect(await ttls(bench)).toEqual(expected(true));
    await bench.ledger.redrive(bench.id, '1', 'rejected');
    expect(await ttls(bench)).toEqual(expected(false));
    await bench.claim(2);
    expect(await ttls(bench)).toEqual([-1, -1, -1, -1, -1, -1, -1]);
    await bench.settle(2, allFailed(7, 'rejected', 'C', ''));
    expect(await ttls(bench)).toEqual(expected(true));
  });

  /** Nothing is in flight at an end, so that key is not there. */
  function expected(ending: boolean): unknown[] {
    const ttl: unknown = expect.toSatisfy(ending ? isRetention : (ms) => ms === -1);
    return [ttl, ttl, ttl, ttl, -2, ttl, ttl];
  }

  const isRetention = (ms: number) => ms > RETENTION_MS - 60_000 && ms <= RETENTION_MS;
});

describe('the count of possibly sent twice of the account', () => {
  const total = async ({ keys }: BatchBench) =>
    (await readPossiblySentTwice(redis.client, keys)).chunks;

  it('has the contacts of a redrive as soon as the batch has them, and once', async () => {
    const bench = await failed('unknown', AT_MOST_ONCE);
    expect(await total(bench)).toBe(0);
    // The script must be in Redis.
    expect(await bench.ledger.redrive(bench.id, '0', 'rejected')).toBe('known');
    const reply = holdNextScript(redis.client);
    const redriven = bench.ledger.redrive(bench.id, '0', 'unknown');
    await reply.answered;
    // A command that is killed here does nothing more.
    expect(await total(bench)).toBe(7);
    expect((await bench.batch()).counts.possiblySentTwice).toBe(7);
    reply.letGo();
    expect(await redriven).toBe('redriven');
    expect(await total(bench)).toBe(7);
  });

  it('has the contacts of a claim once, also when its reply was lost and it is repeated', async () => {
    const bench = await openBatch(redis, {}, [7]);
    await bench.claim(0, 'dead');
    expect(await total(bench)).toBe(0);
    expect(await bench.claimKind(0, 'next')).toBe('send');
    expect(await bench.claimKind(0, 'next')).toBe('send');
    expect(await total(bench)).toBe(7);
    expect((await bench.batch()).counts.possiblySentTwice).toBe(7);
  });
});

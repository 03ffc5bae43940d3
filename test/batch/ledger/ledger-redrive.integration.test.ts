import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Ledger } from '../../../src/batch/ledger/ledger.ts';
import type { FailureRecord } from '../../../src/batch/ledger/ledger-reader.ts';
import { allFailed } from '../../../src/batch/ledger/settlement.ts';
import { readPossiblySentTwice } from '../../../src/fleet/possibly-sent-twice.ts';
import { holdNextScript } from '../../support/held-script.ts';
import { testRedis } from '../../support/redis.ts';
import { AT_MOST_ONCE, openBatch, type BatchBench } from '../support/batch-bench.ts';

const redis = testRedis();

/** A finished batch whose only chunk failed. */
async function failed(state: FailureRecord['state'], plan = {}): Promise<BatchBench> {
  const bench = await openBatch(redis, plan, [7]);
  await bench.claim(0);
  await bench.settle(0, allFailed(state, 'CODE', 'message'));
  expect(await bench.counts()).toEqual({ [state]: 7 });
  return bench;
}

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

  it('of a held template is done while the list is imported, which goes on', async () => {
    const bench = await openBatch(redis, {}, [10, 10], false);
    await bench.claim(0);
    await bench.settle(0, allFailed('rejected', 'C', ''));
    expect(await bench.ledger.redrive(bench.id, '0', 'rejected', '', true)).toBe('redriven');
    expect(await bench.batch()).toMatchObject({ phase: 'importing', chunks: 3, chunksOfList: 2 });
    expect(await bench.store(10)).toBe('stored');
    expect(await bench.batch()).toMatchObject({ phase: 'importing', chunks: 4, chunksOfList: 3 });
    expect(await bench.claim(2, 'b')).toMatchObject({ kind: 'send', size: 10 });
    expect(await bench.counts()).toEqual({ pending: 30, sending: 10 });
  });
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
});

import { describe, expect, it } from 'vitest';
import { allAccepted, allBack, allFailed } from '../../../src/batch/ledger/settlement.ts';
import { testRedis } from '../../support/redis.ts';
import { AT_MOST_ONCE, openBatch } from '../support/batch-bench.ts';

const redis = testRedis();

describe('settle', () => {
  it('parks a possibly sent chunk under at-most-once with its contacts', async () => {
    const bench = await openBatch(redis, AT_MOST_ONCE, [10]);
    await bench.claim(0);
    await bench.settle(0, allBack(true));
    expect(await bench.counts()).toEqual({ unknown: 10 });
    expect(await bench.failures()).toMatchObject([
      { name: '0', state: 'unknown', size: 10, code: 'OUTCOME_UNKNOWN' },
    ]);
    expect(await bench.payload(0)).toBe('contacts of chunk 0');
    expect(await bench.batch()).toMatchObject({ phase: 'finished' });
  });

  it('tells what was rejected, with its rows', async () => {
    const bench = await openBatch(redis, {}, [2, 5]);
    for (const chunk of [0, 1]) await bench.claim(chunk);
    await bench.settle(0, { ...allFailed('rejected', 'BAD', 'no'), rows: '2-3' });
    await bench.settle(1, allAccepted());
    const rejected = { event: 'contact.rejected', batch: 'b-1', failure: '0', contacts: '2' };
    expect(await bench.events()).toMatchObject([
      { ...rejected, rows: '2-3', code: 'BAD' },
      { event: 'batch.finished', phase: 'finished', total: '7', accepted: '5', rejected: '2' },
    ]);
  });

  it('takes a rejection after a possibly sent attempt for no proof', async () => {
    const bench = await openBatch(redis, {}, [10]);
    await bench.claim(0, 'dead');
    await bench.claim(0);
    await bench.settle(0, allFailed('rejected', 'C', ''));
    expect(await bench.counts()).toEqual({ unknown: 10 });
    expect(await bench.events()).toMatchObject([{ event: 'batch.finished' }]);
    expect(await redis.client.hget(bench.keys.counts, 'chunksTwice')).toBe('0');
  });

  it('accepts the result of an attempt that lost the chunk only if all was accepted', async () => {
    const bench = await openBatch(redis, {}, [10]);
    await bench.claim(0, 'late');
    await bench.claim(0, 'new');
    for (const result of [allBack(false), allBack(true), allFailed('rejected', 'C', '')]) {
      expect(await bench.settle(0, result, 'late')).toBe('known');
    }
    expect(await bench.state(0)).toBe('sending-possibly-sent');
    expect(await bench.settle(0, allAccepted(), 'late')).toBe('settled');
    expect(await bench.settle(0, allBack(false), 'new')).toBe('known');
    expect(await bench.counts()).toEqual({ accepted: 10, possiblySentTwice: 10 });
  });
});

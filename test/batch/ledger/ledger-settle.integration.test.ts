import { describe, expect, it } from 'vitest';
import {
  allAccepted,
  allBack,
  allFailed,
  type Settlement,
} from '../../../src/batch/ledger/settlement.ts';
import { testRedis } from '../../support/redis.ts';
import { AT_MOST_ONCE, openBatch } from '../support/batch-bench.ts';

const redis = testRedis();

const MIXED: Settlement = {
  accepted: 5,
  rest: { size: 2, payload: Buffer.from('rest'), possiblySent: false },
  failed: [
    { state: 'rejected', size: 1, code: 'BAD_NUMBER', message: 'no', payload: Buffer.from('one') },
    {
      state: 'unknown',
      size: 2,
      code: 'OUTCOME_UNKNOWN',
      message: '',
      payload: Buffer.from('two'),
    },
  ],
};

describe('settle', () => {
  it('parks a possibly sent part under at-most-once with its own contacts', async () => {
    const bench = await openBatch(redis, AT_MOST_ONCE, [10]);
    await bench.claim(0);
    const rest = { size: 4, payload: Buffer.from('four'), possiblySent: true };
    await bench.settle(0, { accepted: 6, rest, failed: [] });
    expect(await bench.counts()).toEqual({ accepted: 6, unknown: 4 });
    expect(await bench.failures()).toMatchObject([
      { name: '0.1', state: 'unknown', size: 4, code: 'OUTCOME_UNKNOWN' },
    ]);
    expect(await bench.payload('0.1')).toBe('four');
    expect(await bench.payload(0)).toBeUndefined();
    expect(await bench.batch()).toMatchObject({ phase: 'finished' });
  });

  it('names parts that failed, and keeps the contacts of each', async () => {
    const bench = await openBatch(redis, {}, [10]);
    await bench.claim(0);
    await bench.settle(0, MIXED);
    expect(await bench.payload(0)).toBe('rest');
    expect(await bench.claim(0, 'b')).toMatchObject({ size: 2, payload: Buffer.from('rest') });
    await bench.settle(0, allFailed(2, 'rejected', 'LATER', 'again'), 'b');
    expect(await bench.failures()).toMatchObject([
      { name: '0', state: 'rejected', size: 2, code: 'LATER', message: 'again' },
      { name: '0.1', state: 'rejected', size: 1, code: 'BAD_NUMBER', message: 'no' },
      { name: '0.2', state: 'unknown', size: 2, code: 'OUTCOME_UNKNOWN' },
    ]);
    expect(await Promise.all(['0', '0.1', '0.2'].map((name) => bench.payload(name)))).toEqual([
      'rest',
      'one',
      'two',
    ]);
    expect(await bench.events()).toMatchObject([
      {
        event: 'contact.rejected',
        batch: 'b-1',
        failure: '0.1',
        contacts: '1',
        code: 'BAD_NUMBER',
      },
      { event: 'contact.rejected', failure: '0', contacts: '2', code: 'LATER' },
      { event: 'batch.finished', phase: 'finished', total: '10', accepted: '5', rejected: '3' },
    ]);
  });

  it('takes a rejection after a possibly sent attempt for no proof', async () => {
    const bench = await openBatch(redis, {}, [10]);
    await bench.claim(0, 'dead');
    await bench.claim(0);
    await bench.settle(0, allFailed(10, 'rejected', 'C', ''));
    expect(await bench.counts()).toEqual({ unknown: 10 });
    expect(await bench.events()).toMatchObject([{ event: 'batch.finished' }]);
    expect(await redis.client.hget(bench.keys.possiblySentTwice, 'chunks')).toBe('0');
  });

  it('accepts the result of an attempt that lost the chunk only if all was accepted', async () => {
    const bench = await openBatch(redis, {}, [10]);
    await bench.claim(0, 'late');
    await bench.claim(0, 'new');
    for (const result of [allBack(10, false), allFailed(10, 'rejected', 'C', ''), MIXED]) {
      expect(await bench.settle(0, result, 'late')).toBe('known');
    }
    expect(await bench.state(0)).toBe('sending-possibly-sent');
    expect(await bench.settle(0, allAccepted(10), 'late')).toBe('settled');
    expect(await bench.settle(0, allBack(10, false), 'new')).toBe('known');
    expect(await bench.counts()).toEqual({ accepted: 10, possiblySentTwice: 10 });
  });

  it.each<[string, Settlement]>([
    ['too few', allAccepted(9)],
    ['too many', allAccepted(11)],
    [
      'a part that keeps the payload of all',
      { accepted: 5, rest: { size: 5, possiblySent: false }, failed: [] },
    ],
    [
      'a failed part without contacts of its own',
      { accepted: 5, failed: [{ state: 'rejected', size: 5, code: 'C', message: '' }] },
    ],
    [
      'a part of nothing',
      {
        accepted: 10,
        failed: [{ state: 'rejected', size: 0, code: 'C', message: '', payload: Buffer.from('x') }],
      },
    ],
    [
      'less than nothing',
      {
        accepted: 11,
        rest: { size: -1, payload: Buffer.from('x'), possiblySent: false },
        failed: [],
      },
    ],
    [
      'less than none accepted',
      {
        accepted: -1,
        rest: { size: 11, payload: Buffer.from('x'), possiblySent: false },
        failed: [],
      },
    ],
  ])('refuses what does not fit the chunk: %s', async (_, settlement) => {
    const bench = await openBatch(redis, {}, [10]);
    await bench.claim(0);
    await expect(bench.settle(0, settlement)).rejects.toThrow(RangeError);
    expect(await bench.state(0)).toBe('sending');
    expect(await bench.counts()).toEqual({ pending: 10, sending: 10 });
    expect(await bench.settle(0, allAccepted(10))).toBe('settled');
  });
});

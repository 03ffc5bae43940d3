import { describe, expect, it } from 'vitest';
import type { ChunkState } from '../../../src/batch/ledger/chunk-state.ts';
import {
  allAccepted,
  allBack,
  allFailed,
  type Settlement,
} from '../../../src/batch/ledger/settlement.ts';
import { testRedis } from '../../support/redis.ts';
import { AT_MOST_ONCE, eventNames, openBatch, payloadOf } from '../support/batch-bench.ts';

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

interface Row {
  readonly what: string;
  readonly settlement: Settlement;
  readonly to: ChunkState;
  readonly counts: Readonly<Record<string, number>>;
  /** State and counts if they differ after a possibly sent attempt. */
  readonly possiblySentTo: ChunkState;
  readonly possiblySentCounts: Readonly<Record<string, number>>;
  /** Contacts that the service did not take again. */
  readonly notTaken?: number;
  readonly keepsPayload: boolean;
}

const ROWS: readonly Row[] = [
  {
    what: 'all accepted',
    settlement: allAccepted(10),
    to: 'settled',
    counts: { accepted: 10 },
    possiblySentTo: 'settled',
    possiblySentCounts: { accepted: 10 },
    keepsPayload: false,
  },
  {
    what: 'all back',
    settlement: allBack(10, false),
    notTaken: 10,
    to: 'pending',
    counts: { pending: 10 },
    possiblySentTo: 'pending-possibly-sent',
    possiblySentCounts: { pending: 10 },
    keepsPayload: true,
  },
  {
    what: 'all back, possibly sent',
    settlement: allBack(10, true),
    to: 'pending-possibly-sent',
    counts: { pending: 10 },
    possiblySentTo: 'pending-possibly-sent',
    possiblySentCounts: { pending: 10 },
    keepsPayload: true,
  },
  ...(['rejected', 'unknown', 'expired'] as const).map((state) => ({
    what: `all ${state}`,
    settlement: allFailed(10, state, 'CODE', 'message'),
    notTaken: state === 'unknown' ? 0 : 10,
    to: 'settled' as const,
    counts: { [state]: 10 },
    possiblySentTo: 'settled' as const,
    possiblySentCounts: { unknown: 10 },
    keepsPayload: true,
  })),
  {
    what: 'all rejected, in payloads of their own',
    notTaken: 10,
    settlement: {
      accepted: 0,
      failed: [
        { state: 'rejected', size: 4, code: 'A', message: '', payload: Buffer.from('x') },
        { state: 'rejected', size: 6, code: 'B', message: '', payload: Buffer.from('y') },
      ],
    },
    to: 'settled',
    counts: { rejected: 10 },
    possiblySentTo: 'settled',
    possiblySentCounts: { unknown: 10 },
    keepsPayload: false,
  },
  {
    what: 'a part of each',
    settlement: MIXED,
    notTaken: 3,
    to: 'pending',
    counts: { pending: 2, accepted: 5, rejected: 1, unknown: 2 },
    possiblySentTo: 'pending-possibly-sent',
    possiblySentCounts: { pending: 2, accepted: 5, unknown: 3 },
    keepsPayload: true,
  },
];

describe('settle', () => {
  it.each(ROWS)(
    '$what: from sending to $to, once',
    async ({ settlement, to, counts, keepsPayload }) => {
      const bench = await openBatch(redis, {}, [10]);
      await bench.claim(0);
      for (const answer of ['settled', 'known', 'known']) {
        expect(await bench.settle(0, settlement)).toBe(answer);
        expect(await bench.state(0)).toBe(to);
        expect(await bench.counts()).toEqual(counts);
        expect((await bench.payload(0)) !== undefined).toBe(keepsPayload);
      }
      const { inflight } = bench.keys.batch(bench.id);
      expect(await redis.client.hexists(inflight, '0')).toBe(0);
      const done = to === 'settled';
      expect(await bench.batch()).toMatchObject({ phase: done ? 'finished' : 'sending' });
      const ended = (await eventNames(bench)).filter((name) => name === 'batch.finished');
      expect(ended).toHaveLength(done ? 1 : 0);
    },
  );

  it.each(ROWS)(
    '$what: from sending-possibly-sent to $possiblySentTo, and a rejection proves nothing',
    async ({ settlement, possiblySentTo, possiblySentCounts, notTaken = 0 }) => {
      const bench = await openBatch(redis, {}, [10]);
      await bench.claim(0, 'dead');
      await bench.claim(0);
      expect(await bench.settle(0, settlement)).toBe('settled');
      expect(await bench.state(0)).toBe(possiblySentTo);
      const twice = notTaken === 10 ? {} : { possiblySentTwice: 10 - notTaken };
      expect(await bench.counts()).toEqual({ ...twice, ...possiblySentCounts });
      const ofAccount = await redis.client.hget(bench.keys.possiblySentTwice, 'chunks');
      expect(Number(ofAccount)).toBe(10 - notTaken);
      expect(await eventNames(bench)).not.toContain('contact.rejected');
    },
  );

  it.each(ROWS)('$what: under at-most-once nothing possibly sent is tried again', async (row) => {
    const bench = await openBatch(redis, AT_MOST_ONCE, [10]);
    await bench.claim(0);
    expect(await bench.settle(0, row.settlement)).toBe('settled');
    const possiblySent = row.settlement.rest?.possiblySent === true;
    expect(await bench.state(0)).toBe(possiblySent ? 'settled' : row.to);
    expect(await bench.counts()).toEqual(possiblySent ? { unknown: 10 } : row.counts);
  });

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

  it('never gives two parts one name, over several settlements', async () => {
    const bench = await openBatch(redis, {}, [10]);
    for (const [index, left] of [9, 8].entries()) {
      await bench.claim(0, `n${index}`);
      const one = { state: 'rejected' as const, size: 1, code: 'C', message: '' };
      const rest = { size: left, payload: Buffer.from(`left ${left}`), possiblySent: false };
      const failed = [{ ...one, payload: Buffer.from(`bad ${index}`) }];
      await bench.settle(0, { accepted: 0, rest, failed }, `n${index}`);
    }
    expect((await bench.failures()).map(({ name }) => name)).toEqual(['0.1', '0.2']);
    expect(await bench.payload('0.1')).toBe('bad 0');
    expect(await bench.counts()).toEqual({ pending: 8, rejected: 2 });
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

  it('does not apply a late result of the whole chunk to its rest', async () => {
    const bench = await openBatch(redis, {}, [10]);
    await bench.claim(0, 'late');
    await bench.claim(0, 'new');
    const rest = { size: 5, payload: Buffer.from('five'), possiblySent: true };
    await bench.settle(0, { accepted: 5, rest, failed: [] }, 'new');
    await bench.claim(0, 'newer');
    // From an attempt that had ten: half of them were accepted.
    expect(await bench.settle(0, { accepted: 5, rest, failed: [] }, 'late')).toBe('known');
    expect(await bench.settle(0, allAccepted(10), 'late')).toBe('known');
    expect(await bench.counts()).toEqual({
      pending: 5,
      sending: 5,
      accepted: 5,
      possiblySentTwice: 15,
    });
  });

  it('accepts such a result also while the chunk waits for its next attempt', async () => {
    const bench = await openBatch(redis, {}, [10]);
    await bench.claim(0, 'late');
    await bench.ledger.control(bench.id, 'pause');
    expect(await bench.claimKind(0, 'new')).toBe('paused');
    expect(await bench.settle(0, allBack(10, true), 'late')).toBe('known');
    expect(await bench.settle(0, allAccepted(9), 'late')).toBe('known');
    expect(await bench.settle(0, allAccepted(10), 'late')).toBe('settled');
    expect(await bench.settle(0, allAccepted(10), 'late')).toBe('known');
    expect(await bench.counts()).toEqual({ accepted: 10 });
    expect(await bench.payload(0)).toBeUndefined();
    await bench.ledger.control(bench.id, 'resume');
    expect(await bench.claimKind(0, 'newer')).toBe('settled');
    expect(await bench.batch()).toMatchObject({ phase: 'finished' });
    expect(Number(await redis.client.get(bench.keys.unsent))).toBe(0);
  });

  it('ignores an attempt that had requeued the chunk', async () => {
    const bench = await openBatch(redis, {}, [10]);
    await bench.claim(0, 'a');
    await bench.settle(0, allBack(10, false), 'a');
    await bench.claim(0, 'b');
    expect(await bench.settle(0, allAccepted(10), 'a')).toBe('known');
    expect(await bench.state(0)).toBe('sending');
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

  it.each(ROWS)('$what: after a cancel nothing is pending', async ({ settlement }) => {
    const bench = await openBatch(redis, {}, [10, 10]);
    await bench.claim(0);
    await bench.ledger.control(bench.id, 'cancel');
    expect(await eventNames(bench)).toEqual([]);
    expect(await bench.settle(0, settlement)).toBe('settled');
    expect(await bench.settle(0, settlement)).toBe('known');
    const { rest, accepted } = settlement;
    const counts = await bench.counts();
    expect(counts.pending).toBeUndefined();
    expect(counts.accepted ?? 0).toBe(accepted);
    expect(counts.cancelled).toBe(10 + (rest?.possiblySent === false ? rest.size : 0));
    const left =
      rest === undefined ? 'settled' : rest.possiblySent ? 'pending-possibly-sent' : 'pending';
    expect(await bench.state(0)).toBe(left);
    const kept = rest?.payload ?? payloadOf(0);
    const payload = await bench.payload(0);
    expect(rest === undefined || payload === kept.toString()).toBe(true);
    expect((await bench.batch()).phase).toBe('cancelled');
    expect((await eventNames(bench)).at(-1)).toBe('batch.finished');
    expect(await bench.claimKind(0, 'b')).toBe(rest === undefined ? 'settled' : 'cancelled');
  });

  it('changes nothing after a redrive of what it had settled', async () => {
    const bench = await openBatch(redis, {}, [10]);
    await bench.claim(0);
    await bench.settle(0, allFailed(10, 'rejected', 'C', ''));
    expect(await bench.ledger.redrive(bench.id, '0', 'rejected')).toBe('redriven');
    expect(await bench.settle(0, allFailed(10, 'rejected', 'C', ''))).toBe('known');
    expect(await bench.settle(0, allAccepted(10))).toBe('known');
    expect(await bench.settle(1, allAccepted(10))).toBe('known');
    expect(await bench.counts()).toEqual({ pending: 10 });
  });

  it('is known where there is no batch', async () => {
    const bench = await openBatch(redis);
    expect(await bench.ledger.settle('b-2', 0, 'a', allAccepted(1))).toBe('known');
    expect(await redis.client.exists(bench.keys.batch('b-2').record)).toBe(0);
  });
});

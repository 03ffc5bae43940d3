import { describe, expect, it } from 'vitest';
import { allAccepted, allBack, allFailed } from '../../../src/batch/ledger/settlement.ts';
import { testRedis } from '../../support/redis.ts';
import { AT_MOST_ONCE, openBatch } from '../support/batch-bench.ts';
import type { BatchBench } from '../support/batch-bench.ts';

const redis = testRedis();

/** Where a worker crashes, as what it did before; its chunk has ten contacts. */
const DEATHS: readonly {
  readonly at: string;
  readonly did: (bench: BatchBench) => Promise<unknown>;
  /** It may have sent, and reported no result. */
  readonly mayHaveSent: boolean;
  readonly settled: boolean;
}[] = [
  {
    at: 'before its claim',
    did: () => Promise.resolve(),
    mayHaveSent: false,
    settled: false,
  },
  {
    at: 'after its claim, before or after the request',
    did: (bench) => bench.claim(0, 'dead'),
    mayHaveSent: true,
    settled: false,
  },
  {
    at: 'after it gave the chunk back',
    did: async (bench) => {
      await bench.claim(0, 'dead');
      await bench.settle(0, allBack(10, false), 'dead');
    },
    mayHaveSent: false,
    settled: false,
  },
  {
    at: 'after it settled, before its job was done',
    did: async (bench) => {
      await bench.claim(0, 'dead');
      await bench.settle(0, allAccepted(10), 'dead');
    },
    mayHaveSent: false,
    settled: true,
  },
];

/** Five more workers take the job, and each crashes after its claim; the last settles. */
async function followers(bench: BatchBench): Promise<number> {
  let handedOut = 0;
  for (const nonce of ['w1', 'w2', 'w3', 'w4', 'w5']) {
    if ((await bench.claimKind(0, nonce)) === 'send') handedOut += 1;
    await bench.counts();
  }
  await bench.settle(0, allAccepted(10), 'w5');
  return handedOut;
}

describe.each(DEATHS)('a worker that crashes $at', ({ did, mayHaveSent, settled }) => {
  it('sends nothing twice under at-most-once', async () => {
    const bench = await openBatch(redis, AT_MOST_ONCE, [10]);
    await did(bench);
    expect(await followers(bench)).toBe(settled || mayHaveSent ? 0 : 1);
    expect(await bench.counts()).toEqual(settled ? { accepted: 10 } : { unknown: 10 });
    expect(await bench.batch()).toMatchObject({ phase: 'finished' });
  });

  it('loses nothing under at-least-once, and each sending too many is counted', async () => {
    const bench = await openBatch(redis, {}, [10]);
    await did(bench);
    const handedOut = await followers(bench);
    expect(handedOut).toBe(settled ? 0 : 5);
    const twice = settled ? 0 : handedOut - (mayHaveSent ? 0 : 1);
    const { counts } = await bench.batch();
    expect(counts).toMatchObject({ accepted: 10, possiblySentTwice: twice * 10 });
  });
});

it('sends again under at-most-once only what a person redrives as unknown', async () => {
  const bench = await openBatch(redis, AT_MOST_ONCE, [10]);
  await bench.claim(0, 'dead');
  expect(await bench.claimKind(0, 'next')).toBe('parked');
  // The dead one was only slow. What is parked stays so until a person decides.
  expect(await bench.settle(0, allAccepted(10), 'dead')).toBe('known');
  expect(await bench.ledger.redrive(bench.id, '0', 'rejected')).toBe('known');
  expect(await bench.claimKind(0, 'next')).toBe('settled');
  expect(await bench.ledger.redrive(bench.id, '0', 'unknown')).toBe('redriven');
  expect(await bench.claimKind(1, 'next')).toBe('send');
  await bench.settle(1, allFailed(10, 'rejected', 'C', ''), 'next');
  // It was sent again on request: the redrive counts it.
  expect(await bench.counts()).toEqual({ rejected: 10, possiblySentTwice: 10 });
});

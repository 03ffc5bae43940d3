import { describe, expect, it } from 'vitest';
import { allAccepted, allBack } from '../../../src/batch/ledger/settlement.ts';
import { testRedis } from '../../support/redis.ts';
import { AT_MOST_ONCE, openBatch, payloadOf, PLAN } from '../support/batch-bench.ts';

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
  });

  it('refuses a worker that does not own the job', async () => {
    const bench = await openBatch(redis, {}, [10]);
    const key = `${bench.keys.bullPrefix}:job-1:lock`;
    const claimWith = (lock: { key: string; token: string }) =>
      bench.ledger.claim(bench.id, 0, 'a', lock);
    expect(await claimWith({ key, token: 'worker-2' })).toEqual({ kind: 'lost' });
    expect(await claimWith({ key: `${key}-2`, token: 'worker-1' })).toEqual({ kind: 'lost' });
    await redis.client.del(key);
    expect(await bench.claim(0)).toEqual({ kind: 'lost' });
    expect(await bench.state(0)).toBe('pending');
    expect(await bench.counts()).toEqual({ pending: 10 });
  });

  it.each(['at-least-once', 'at-most-once'] as const)(
    'repeated by the same attempt under %s, for its answer was lost, is the same claim',
    async (delivery) => {
      const bench = await openBatch(redis, { delivery, rate: 1 }, [10, 10]);
      const first = await bench.claim(0, 'a');
      expect(first.kind).toBe('send');
      await bench.ledger.control(bench.id, 'pause');
      expect(await bench.claim(0, 'a')).toEqual(first);
      expect(await bench.state(0)).toBe('sending');
      expect(await bench.counts()).toEqual({ pending: 20, sending: 10 });
    },
  );

  it('goes on at its rate after a clock that went back an hour', async () => {
    const bench = await openBatch(redis, { rate: 10 }, [10, 10, 10]);
    await bench.claim(0);
    const inAnHour = Date.now() + 3_600_000;
    for (const field of ['nextAt', 'turnsTo', 'movedAt']) await bench.setField(field, inAnHour);
    expect(await bench.claimKind(1, 'b')).toBe('send');
    expect(await bench.claim(2, 'c')).toMatchObject({ kind: 'later' });
    const { nextAt } = await bench.batch();
    expect(nextAt).toBeLessThanOrEqual(Date.now() + 1_000);
  });

  it('lists what expired and what is unknown, and keeps its contacts', async () => {
    const bench = await openBatch(redis, {}, [10, 4]);
    await bench.claim(1, 'a');
    await bench.setField('expiresAt', 1);
    await bench.claim(0, 'b');
    await bench.claim(1, 'b');
    expect(await bench.failures()).toMatchObject([
      { name: '0', state: 'expired', size: 10, code: 'EXPIRED' },
      { name: '1', state: 'unknown', size: 4, code: 'EXPIRED' },
    ]);
    expect(await bench.payload(0)).toBe(payloadOf(0).toString());
  });

  it('parks under at-most-once what an attempt left, with its contacts, and finishes', async () => {
    const bench = await openBatch(redis, AT_MOST_ONCE, [10]);
    await bench.claim(0, 'a');
    expect(await bench.claimKind(0, 'b')).toBe('parked');
    expect(await bench.failures()).toMatchObject([
      { name: '0', state: 'unknown', size: 10, code: 'OUTCOME_UNKNOWN' },
    ]);
    expect(await bench.payload(0)).toBe(payloadOf(0).toString());
    expect(await bench.batch()).toMatchObject({ phase: 'finished' });
    expect(await bench.claimKind(0, 'c')).toBe('settled');
    // The dead one was only slow: what is parked stays so until a person decides.
    expect(await bench.settle(0, allAccepted(), 'a')).toBe('known');
  });

  it('finishes a batch whose contacts were deleted', async () => {
    const bench = await openBatch(redis, {}, [10]);
    await redis.client.del(bench.keys.batch(bench.id).payload);
    expect(await bench.claimKind(0)).toBe('parked');
    expect(await bench.failures()).toMatchObject([
      { state: 'unknown', code: 'PAYLOAD_UNREADABLE' },
    ]);
    expect(await bench.batch()).toMatchObject({ phase: 'finished' });
  });

  it('records when the batch last changed', async () => {
    const bench = await openBatch(redis, {}, [10, 10]);
    const expire = async () => {
      await bench.setField('expiresAt', 1);
      await bench.claim(0);
    };
    const settle = () => bench.settle(0, allBack(false));
    for (const move of [() => bench.claim(0), settle, expire]) {
      await bench.setField('movedAt', 1);
      await move();
      expect((await bench.batch()).movedAt).toBeGreaterThan(1);
    }
  });
});

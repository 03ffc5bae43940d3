import { describe, expect, it } from 'vitest';
import { allFailed } from '../../src/batch/ledger/settlement.ts';
import { readAudit } from '../../src/ops/audit.ts';
import {
  resolveBatch,
  resolveSelected,
  type UnknownResolution,
} from '../../src/ops/resolve-unknown.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { buildBatch, contacts, part } from '../batch/support/built-batch.ts';
import { testRedis } from '../support/redis.ts';

const redis = testRedis();

/** 20 contacts: 7 accepted, 2 rejected, 11 unknown in two failures. */
async function inDoubt() {
  const prefix = redis.freshPrefix();
  const keys = keysOf(prefix, 'default');
  const built = await buildBatch(redis.client, prefix, 'b', [contacts(10), contacts(10, 10)]);
  const { ledger } = built;
  await built.settle(0, allFailed('unknown', 'HTTP_503', 'HTTP 503'));
  await built.settle(1, {
    accepted: 7,
    failed: [
      await part('rejected', 'BAD_NUMBER', contacts(2, 10)),
      await part('unknown', 'ECONNRESET', contacts(1, 12)),
    ],
  });
  const resolve = async (as: UnknownResolution, signal?: AbortSignal) =>
    resolveBatch(
      { ledger, redis: redis.client, keys },
      await built.read(),
      {},
      { as, who: 'kim', why: '' },
      signal,
    );
  /** Contacts by state, after a look at the law: they add up. */
  const counts = async () => {
    const { total, pending, accepted, rejected, unknown, expired, cancelled, possiblySentTwice } = (
      await built.read()
    ).counts;
    expect(pending + accepted + rejected + unknown + expired + cancelled).toBe(total);
    return { pending, accepted, rejected, unknown, cancelled, possiblySentTwice };
  };
  return { ...built, keys, resolve, counts };
}

describe('a resend that the batch does not allow any more', () => {
  it('stops, and says why for the batch', async () => {
    const bench = await inDoubt();
    const { ledger, keys } = bench;
    const context = { ledger, redis: redis.client, keys };
    const redrive = async (...one: Parameters<typeof ledger.redrive>) => {
      const done = await ledger.redrive(...one);
      await ledger.control('b', 'pause');
      return done;
    };
    const paused = new Proxy(ledger, {
      get: (target, name) => {
        if (name === 'redrive') return redrive;
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    const decision = { as: 'resend', who: 'kim', why: '' } as const;
    const report = await resolveSelected({ ...context, ledger: paused }, {}, decision);
    const reason = 'it is paused; run "notices resume b" first';
    expect(report).toMatchObject({ resolved: 1, gone: 0, refused: [{ batch: 'b', reason }] });
    const { pending, unknown } = await bench.counts();
    expect([pending, unknown]).toEqual([report.contacts, 11 - report.contacts]);
  });
});

describe('what is unknown of a batch', () => {
  it('told to stop on the way: what was done is in the audit, the rest is listed', async () => {
    const bench = await inDoubt();
    const stop = new AbortController();
    const { ledger } = bench;
    const real = ledger.resolve.bind(ledger);
    ledger.resolve = async (...args) => {
      stop.abort();
      return real(...args);
    };
    const report = await bench.resolve('accepted', stop.signal);
    expect(report).toMatchObject({ resolved: 1, stopped: true });
    expect((await bench.counts()).unknown).toBe(11 - report.contacts);
    const [audit] = await readAudit(redis.client, bench.keys, 9);
    expect(audit?.contacts).toBe(report.contacts);
  });
});

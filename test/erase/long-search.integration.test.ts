import { expect, it } from 'vitest';
import { Ledger } from '../../src/batch/ledger/ledger.ts';
import { eraseNumber } from '../../src/erase/erase-number.ts';
import { erase } from '../../src/ops/operations/number.ts';
import { NO_SEALING } from '../../src/payload/seal.ts';
import { testRedis } from '../support/redis.ts';
import { FIND_KEY, NUMBER, openErase, to } from './support/open-erase.ts';

const redis = testRedis();

it.each([
  ['over HTTP goes on until its end', true, { cancelled: 1, stopped: false }],
  ['ends with Ctrl-C', false, { cancelled: 0, stopped: true }],
])('an erasure that takes longer than a request may: %s', async (_, overHttp, expected) => {
  const { queue, keys } = openErase(redis, redis.freshPrefix());
  await queue.send(to(NUMBER));
  const context = {
    redis: redis.client,
    keys,
    ledger: new Ledger(redis.client, keys),
    sealing: NO_SEALING,
    findSettings: { findKey: FIND_KEY, keepFailedMs: 86_400_000 },
    configuredRateLimit: 0,
    status: () => Promise.reject(new Error('not asked for')),
  };
  const http = overHttp ? { bounded: true, closing: new AbortController().signal } : {};
  const call = { who: 'kim', why: '', signal: AbortSignal.abort(), ...http };
  const { notices, stopped } = await erase.run(context, { number: NUMBER }, call);
  expect({ cancelled: notices.cancelled, stopped }).toEqual(expected);
});

it('an erasure that is stopped within a batch keeps the fingerprints of the contacts that are left', async () => {
  const { queue, keys, erase, ledger, traces } = openErase(redis, redis.freshPrefix());
  const list = [1, 2, 3].map((row) => ({ contact: NUMBER, var1: `row ${row}` }));
  await queue.import(list, {
    templateCode: 'T',
    batchId: 'b',
    chunkSize: 1,
    allowDuplicates: true,
  });
  const fingerprints = async () =>
    (await traces()).filter(([form]) => form === 'fingerprint of a chunk').length;
  expect(await fingerprints()).toBe(1);
  const stop = new AbortController();
  const stopping = new (class extends Ledger {
    override async takeOut(...given: Parameters<Ledger['takeOut']>) {
      const answer = await super.takeOut(...given);
      stop.abort();
      return answer;
    }
  })(redis.client, keys);
  const findSettings = { findKey: FIND_KEY, keepFailedMs: 86_400_000 };
  const context = {
    redis: redis.client,
    keys,
    ledger: stopping,
    sealing: NO_SEALING,
    findSettings,
  };
  const erasure = { forms: [NUMBER], actor: { who: 'kim', why: '' }, signal: stop.signal };
  expect(await eraseNumber(context, erasure)).toMatchObject({
    batches: [{ batch: 'b', waiting: 1, ended: 0 }],
    index: { chunks: 0 },
    stopped: true,
  });
  expect((await ledger.read('b'))?.counts).toMatchObject({ pending: 2, cancelled: 1 });
  expect(await fingerprints()).toBe(1);
  // The next one erases the rest, and then the fingerprints.
  expect((await erase()).report).toMatchObject({ index: { chunks: 3 }, stopped: false });
  expect(await fingerprints()).toBe(0);
});

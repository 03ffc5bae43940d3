import { expect, it } from 'vitest';
import { Ledger } from '../../src/batch/ledger/ledger.ts';
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

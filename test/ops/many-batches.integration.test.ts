import { expect, it } from 'vitest';
import { allFailed } from '../../src/batch/ledger/settlement.ts';
import { encodeFingerprints } from '../../src/number-index/chunk-fingerprints.ts';
import { findKey, hashNumber } from '../../src/number-index/number-key.ts';
import { fleetMetrics } from '../../src/metrics/fleet-metrics.ts';
import { buildBatch, contacts } from '../batch/support/built-batch.ts';
import { run } from '../cli/support/run.ts';
import { readExposition } from '../metrics/exposition.ts';
import { testRedis } from '../support/redis.ts';

const redis = testRedis();
const HOUR = 3_600_000;
const FIND_KEY = 'f'.repeat(64);

/** An open batch with ten waiting and ten unknown contacts, and more finished ones than were ever read at once. */
async function behindManyBatches() {
  const { prefix, keys } = redis.account();
  const lists = [contacts(10), contacts(10, 10)];
  const old = await buildBatch(redis.client, prefix, 'oldest', lists);
  await old.settle(1, allFailed('unknown', 'HTTP_503', 'HTTP 503'));
  const prints = lists.map((list, index) =>
    encodeFingerprints(
      list.map(({ contact }) => hashNumber(findKey(FIND_KEY), contact)),
      ['2-11', '12-21'][index] ?? '',
    ),
  );
  await redis.client.hset(keys.batchFind('oldest'), { '0': prints[0] ?? '', '1': prints[1] ?? '' });
  const { begunAt } = await old.read();
  const filling = redis.client.pipeline();
  for (let index = 1; index <= 1_050; index++) {
    // Several in each millisecond.
    const at = begunAt + Math.ceil(index / 3);
    const id = `later-${index}`;
    filling.hset(keys.batch(id).record, { id, phase: 'finished', begunAt: at, finishedAt: at });
    filling.zadd(keys.batches, at, id);
  }
  await filling.exec();
  return {
    keys,
    ledger: old.ledger,
    env: { REDIS_URL: redis.url, REDIS_PREFIX: prefix, FIND_KEY },
  };
}

it('the oldest of more than a thousand batches is in the list of a restore, the search, the unknown and the alarms', async () => {
  const { keys, env } = await behindManyBatches();
  const at = Date.now() + HOUR;
  const event = { event: 'e', eventAt: at, why: 'gap', copyAt: at - HOUR, missingMs: HOUR };
  const epoch = { id: 'one', bornAt: at, beats: 1, at, verdict: 'held', ...event };
  await redis.client.hset(keys.epoch, epoch);
  await redis.client.hset(keys.hold, 'queue', JSON.stringify({ kind: 'restored', code: 'gap' }));
  const words = async (line: string) => (await run(line, env)).stdout;
  const json = async (line: string) => JSON.parse(await words(`${line} --json`)) as unknown;

  const waiting = contacts(1)[0]?.contact ?? '';
  expect(await json('restored')).toMatchObject({
    batches: [{ batch: 'oldest', contacts: 10, phase: 'sending' }],
  });
  expect(await words('restored --csv')).toContain(waiting);
  expect(await json('failures --state unknown')).toMatchObject({
    batches: [{ batch: 'oldest', contacts: 10 }],
  });
  const unknown = contacts(1, 10)[0]?.contact;
  expect(await words('failures --csv --state unknown')).toContain(unknown);
  expect(await json(`find ${waiting}`)).toMatchObject({
    contacts: [{ batch: 'oldest', states: ['pending'] }],
    searched: { batches: 1_051 },
  });
  expect(await words('doctor')).toContain('10 unknown outcomes to decide');

  await redis.client.del(keys.hold);
  expect(await json('status')).toMatchObject({
    unknown: { contacts: 10 },
    batches: { unknown: 10 },
  });
  const { value } = readExposition(await fleetMetrics({ redis: redis.client, keys }).text());
  expect(value('notices_batch_contacts', { state: 'unknown' })).toBe(10);
  expect(await words('decide --code HTTP_503 --as discard --yes')).toContain('10 contacts');
});

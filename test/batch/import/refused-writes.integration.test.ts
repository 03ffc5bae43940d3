import { afterEach, expect, it } from 'vitest';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { importWorld } from '../support/import-world.ts';
import { numberOf } from '../support/csv-list.ts';

const redis = testRedis();

afterEach(async () => {
  await redis.client.config('SET', 'min-replicas-to-write', '0');
  await redis.client.config('SET', 'maxmemory', '0');
});

it.each([
  ['NOREPLICAS', 'min-replicas-to-write', '1'],
  ['OOM', 'maxmemory', '1'],
])(
  'an import goes on where it was once Redis takes writes again (%s)',
  async (code, setting, value) => {
    const refused = async () =>
      Number(
        new RegExp(`errorstat_${code}:count=(\\d+)`).exec(
          await redis.client.info('errorstats'),
        )?.[1] ?? 0,
      );
    const world = importWorld(redis);
    const before = await refused();
    let ended = Promise.resolve();
    async function* list() {
      for (let at = 0; at < 5_000; at++) {
        if (at === 4_000) {
          await until(async () => ((await world.ledger.read('b'))?.chunks ?? 0) > 0, {
            what: 'a stored chunk',
          });
          await redis.client.config('SET', setting, value);
          ended = until(async () => (await refused()) > before + 1, {
            what: 'two refused writes',
          }).then(async () => {
            await redis.client.config('SET', setting, '0');
          });
        }
        yield { contact: numberOf(at) };
      }
    }
    const report = await world.import(list(), { batchId: 'b', chunkSize: 50 });
    await ended;
    expect(report).toMatchObject({ contacts: 5_000, chunks: 100, alreadyImported: false });
    expect(await world.ledger.read('b')).toMatchObject({
      phase: 'sending',
      chunks: 100,
      queued: 100,
      counts: { total: 5_000 },
    });
  },
);

import { expect, it } from 'vitest';
import { importBatch } from '../../../src/batch/import/import-batch.ts';
import { NO_SEALING } from '../../../src/payload/seal.ts';
import { testRedis } from '../../support/redis.ts';
import { signal, until } from '../../support/wait.ts';
import { csvList, numberOf } from '../support/csv-list.ts';
import { failureOf, importWorld, listFile } from '../support/import-world.ts';

const redis = testRedis();

it.each([
  ['a row less', csvList(3_000).replace(`${numberOf(2_000)},홍2000\n`, '')],
  ['another value', csvList(3_000).replace('홍2000', '김')],
  ['no row after row 2,500', csvList(2_500)],
  ['rows after its last', csvList(3_500)],
])(
  'while an import waits, the same list with %s is refused, and nothing is mixed',
  async (_, other) => {
    const world = importWorld(redis);
    const waits = signal();
    const first = world.import(listFile(csvList(3_000)), {
      batchId: 'b',
      highWater: 1_200,
      onProgress: ({ waiting }) => waiting && waits.resolve(),
    });
    await waits.promise;
    const more = { batchId: 'b', highWater: 1_000_000 };
    const failure = await failureOf(world.import(listFile(other), more));
    expect(failure.code).toBe('BATCH_CONFLICT');
    const second = await world.import(listFile(csvList(3_000)), more);
    expect(second).toMatchObject({ resumed: true, contacts: 3_000 });
    // As if workers had sent them.
    await redis.client.hset(world.keys.counts, 'unsent', 0);
    await first;
    const stored = (await world.contacts('b')).map(({ contact }) => contact);
    expect(stored).toStrictEqual(csvList(3_000).match(/^010\d+/gm));
  },
);

it('of two lists with one id, read once at the same time, that differ after row 1,500 one is refused', async () => {
  const world = importWorld(redis);
  const [isReady, isStored, isOver] = [signal(), signal(), signal()];
  // Both imports have started when the first one stores a chunk that only its list has.
  const first = world.import(
    contactsUntil({ 1_400: isReady.promise, 2_250: isOver.promise }, 'first'),
    OPTIONS,
  );
  const second = world.import(
    contactsUntil({ 1_400: isStored.promise }, 'second', () => isReady.resolve()),
    OPTIONS,
  );
  await until(async () => ((await world.ledger.read('b'))?.chunksOfList ?? 0) > 16, {
    what: 'a chunk of the first list',
  });
  isStored.resolve();
  const failure = await failureOf(second);
  isOver.resolve();
  expect(failure.code).toBe('BATCH_CONFLICT');
  expect(await first).toMatchObject({ contacts: 3_000 });
  expect(await world.contacts('b')).toStrictEqual(contactsOf('first'));
});

const OPTIONS = { batchId: 'b', chunkSize: 100 };

const contactsOf = (name: string) =>
  Array.from({ length: 3_000 }, (_, index) => ({
    contact: numberOf(index < 1_500 || name === 'first' ? index : index + 500),
    var1: index < 1_500 ? '' : name,
  }));

/** @param stops rows before which the list waits */
async function* contactsUntil(
  stops: Readonly<Record<number, Promise<void>>>,
  name: string,
  onStop = () => {},
) {
  for (const [index, contact] of contactsOf(name).entries()) {
    if (stops[index] !== undefined) {
      onStop();
      await stops[index];
    }
    yield contact;
  }
}

it('an import does not end where Redis has lost its last chunk meanwhile', async () => {
  const world = importWorld(redis);
  const { record } = world.keys.batch('b');
  const settings = {
    chunkSize: 100,
    delivery: 'at-least-once',
    highWater: 1_000_000,
    keepFailedMs: 60_000,
    sealing: NO_SEALING,
  } as const;
  // As after a failover to an older copy, after the last chunk was stored.
  const queueChunks = async () => {
    const { chunks } = (await world.ledger.read('b')) ?? {};
    if (chunks === 3) await redis.client.hset(record, 'chunks', 2);
  };
  const options = { templateCode: 'T', batchId: 'b' };
  const list = listFile(csvList(300));
  const failure = await failureOf(
    importBatch(
      {
        ledger: world.ledger,
        room: { has: () => true },
        queueChunks,
        secret: () => Promise.resolve('s'),
      },
      list,
      options,
      settings,
    ),
  );
  expect(failure.code).toBe('IMPORT_STOPPED');
  expect(await world.ledger.read('b')).toMatchObject({ importedAt: 0, phase: 'importing' });
});

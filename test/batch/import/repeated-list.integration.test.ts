import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { writeInstant } from '../../../src/format/time.ts';
import type { Contact, ImportOptions, ImportSource } from '../../../src/index.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { csvList, numberOf } from '../support/csv-list.ts';
import { failureOf, importWorld, listFile } from '../support/import-world.ts';

const redis = testRedis();
const stream = (text: string) => Readable.from([Buffer.from(text)], { objectMode: false });

const objects = (count: number): Contact[] =>
  Array.from({ length: count }, (_, index) => ({ contact: numberOf(index), var1: `홍${index}` }));

function* generated(count: number): Generator<Contact> {
  yield* objects(count);
}

const ndjson = (count: number) =>
  objects(count)
    .map((contact) => `${JSON.stringify(contact)}\n`)
    .join('');

describe('a list that was imported before', () => {
  it.each<readonly [string, () => ImportSource, Partial<ImportOptions>]>([
    ['as it was', () => listFile(csvList(250)), {}],
    ['with a rate', () => listFile(csvList(250)), { rate: 100 }],
    ['with another id', () => listFile(csvList(250)), { batchId: 'other' }],
    ['compressed', () => listFile(gzipSync(csvList(250)), 'list.csv.gz'), {}],
    ['as NDJSON', () => listFile(ndjson(250), 'list.ndjson'), {}],
    ['as a stream', () => stream(csvList(250)), {}],
    ['from a generator', () => generated(250), {}],
  ])(
    '%s: is refused with the batch and its time, and with `again` sent twice',
    async (_, source, more) => {
      const world = importWorld(redis);
      const first = await world.import(listFile(csvList(250)), { batchId: 'first' });
      const { begunAt = 0 } = (await world.ledger.read('first')) ?? {};
      const failure = await failureOf(world.import(source(), more));
      expect(failure.code).toBe('LIST_REPEATED');
      expect(failure.message).toContain(`batch first already, started ${writeInstant(begunAt)}`);
      expect(await world.ledger.unsent()).toBe(250);
      expect(await world.ledger.countBatches()).toBe(1);

      const second = await world.import(source(), { ...more, again: true });
      expect(second).toMatchObject({ contacts: 250, resumed: false });
      expect(second.batch).not.toBe(first.batch);
      expect(await world.ledger.unsent()).toBe(500);
    },
  );

  it.each<readonly [string, () => ImportSource, Partial<ImportOptions>]>([
    ['another template', () => listFile(csvList(250)), { templateCode: 'OTHER' }],
    ['other fields', () => listFile(csvList(250)), { fields: { at: 'x' } }],
    ['one contact more', () => listFile(csvList(251)), {}],
  ])('with %s is another list', async (_, source, more) => {
    const world = importWorld(redis);
    await world.import(listFile(csvList(250)));
    await world.import(source(), more);
    expect(await world.ledger.countBatches()).toBe(2);
  });

  it('with its batch id reports what was imported', async () => {
    const world = importWorld(redis);
    const { batch } = await world.import(stream(csvList(2_500)));
    const again = await world.import(stream(csvList(2_500)), { batchId: batch });
    expect(again).toMatchObject({ batch, alreadyImported: true, contacts: 2_500 });
    // The same beginning, and another end.
    const other = await failureOf(world.import(stream(csvList(2_501)), { batchId: batch }));
    expect(other.code).toBe('BATCH_CONFLICT');
  });

  it('is refused as long as the record of its batch is kept, redriven or not', async () => {
    const world = importWorld(redis, { keepFailedMs: 600_000 });
    const { batch } = await world.import(listFile(csvList(1_500)), { chunkSize: 1_500 });
    const [list = '', ...others] = await redis.client.keys(`${world.keys.list('')}*`);
    expect(others).toEqual([]);
    expect(await redis.client.pttl(list)).toBe(-1);
    await world.ledger.control(batch, 'cancel');
    expect(await redis.client.pttl(list)).toBeGreaterThan(590_000);
    await redis.client.del(world.keys.batch(batch).record);
    expect(await world.import(listFile(csvList(1_500)))).toMatchObject({ contacts: 1_500 });
  });

  it.each([
    ['the same list', csvList(1_500), { again: true }],
    ['another list with the same beginning', csvList(2_000), {}],
  ])('is refused while it is sent, after the retention of %s', async (_, other, more) => {
    const world = importWorld(redis, { keepFailedMs: 600_000 });
    await world.import(listFile(csvList(1_500)), { batchId: 'first' });
    await world.import(listFile(other), { ...more, batchId: 'other' });
    await world.ledger.control('other', 'cancel');
    await endRetention(world);
    const failure = await failureOf(world.import(listFile(csvList(1_500))));
    expect(failure.message).toContain('This list is in batch first already');
  });

  it.each([
    ['under several ids', 1_200, [{ batchId: 'a' }, { batchId: 'b' }, { batchId: 'c' }]],
    ['without an id', 3_000, [{}, {}, {}]],
  ])('imported at the same moment %s is one batch', async (_, contacts, options) => {
    const world = importWorld(redis);
    const file = listFile(csvList(contacts));
    await Promise.allSettled(options.map((one) => world.import(file, one)));
    expect(await world.ledger.countBatches()).toBe(1);
    expect(await world.ledger.unsent()).toBe(contacts);
  });
});

describe('a list that only begins like another one', () => {
  it('is imported if it is a file or an array; repeated, both are refused', async () => {
    const world = importWorld(redis);
    const [short, long] = [listFile(csvList(1_500)), listFile(csvList(2_000))];
    await world.import(short, { batchId: 'short' });
    await world.import(long, { batchId: 'long' });
    await world.import(objects(2_500), { batchId: 'objects' });
    for (const [list, id] of [
      [short, 'short'],
      [long, 'long'],
      [objects(2_500), 'objects'],
    ] as const) {
      const failure = await failureOf(world.import(list));
      expect(failure.message).toContain(`This list is in batch ${id} already`);
    }
    expect(await world.ledger.unsent()).toBe(6_000);
  });

  it('is refused if it can be read only once', async () => {
    const world = importWorld(redis);
    await world.import(stream(csvList(1_500)), { batchId: 'short' });
    const failure = await failureOf(world.import(stream(csvList(2_000))));
    expect(failure.message).toMatch(/^The first 1,000 contacts of this list are in batch short/);
    expect(await world.import(stream(csvList(2_000)), { again: true })).toMatchObject({
      contacts: 2_000,
    });
  });
});

it('from a generator that is refused ends the generator', async () => {
  const world = importWorld(redis);
  let ended = 0;
  async function* contacts() {
    try {
      yield* await Promise.resolve(objects(2_000));
    } finally {
      ended++;
    }
  }
  await world.import(contacts());
  expect(ended).toBe(1);
  expect((await failureOf(world.import(contacts()))).code).toBe('LIST_REPEATED');
  await until(() => ended === 2, { what: 'the generator to end' });
});

/** Deletes what is kept only until the end of a retention, as Redis does then. */
async function endRetention({ prefix }: ReturnType<typeof importWorld>): Promise<void> {
  for (const key of await redis.keys(prefix)) {
    if ((await redis.client.pttl(key)) > 0) await redis.client.del(key);
  }
}

describe('an import that did not reach its end', () => {
  const file = () => listFile(csvList(2_000));
  const bytes = () => stream(csvList(2_000));

  it.each<readonly [string, () => ImportSource, () => ImportSource]>([
    ['a file', file, file],
    ['an array', file, () => objects(2_000)],
    ['a stream', bytes, bytes],
    ['a generator', bytes, () => generated(2_000)],
  ])('is continued by the same list from %s, without an id', async (_, before, source) => {
    const world = importWorld(redis);
    await world.stopped(before(), 1_200);
    expect(await world.import(source())).toMatchObject({ resumed: true, contacts: 2_000 });
    const [batch, ...others] = await world.ledger.list(10);
    expect(others).toEqual([]);
    const contacts = await world.contacts(batch?.id ?? '');
    expect(contacts.map(({ contact }) => contact)).toEqual(
      objects(2_000).map(({ contact }) => contact),
    );
  });

  it('is continued in the chunks that it began with', async () => {
    const world = importWorld(redis);
    await world.stopped(file(), 1_200, { chunkSize: 50, batchId: 'part' });
    const { queue } = world;
    const report = await queue.import(listFile(csvList(2_000)), { templateCode: 'T' });
    expect(report).toMatchObject({ batch: 'part', resumed: true, chunks: 40, contacts: 2_000 });
  });

  it.each([
    ['another row among those that were stored', csvList(2_000).replace('홍1100', '김')],
    ['fewer rows than were stored', csvList(1_050)],
  ])('is not continued by a list with %s', async (_, text) => {
    const world = importWorld(redis);
    await world.stopped(stream(csvList(2_000)), 1_200, { batchId: 'part' });
    const failure = await failureOf(world.import(stream(text), { batchId: 'part' }));
    expect(failure.code).toBe('BATCH_CONFLICT');
    expect(await world.ledger.unsent()).toBe(1_200);
  });
});

it('a list without a valid row does not stop another one', async () => {
  const world = importWorld(redis);
  await world.import(listFile('contact\nx\n'));
  expect(await world.import(listFile('contact\ny\nz\n'))).toMatchObject({ refused: 2 });
});

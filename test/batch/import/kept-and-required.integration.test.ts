import { describe, expect, it } from 'vitest';
import { writeEntries } from '../../../src/ops/entries-csv.ts';
import { decodeContacts, keptOfContact } from '../../../src/payload/chunk-payload.ts';
import { NO_SEALING } from '../../../src/payload/seal.ts';
import { testRedis } from '../../support/redis.ts';
import { until } from '../../support/wait.ts';
import { failureOf, importWorld, listFile } from '../support/import-world.ts';

const redis = testRedis();

const CSV =
  'customerNo,contact,var1,var2\n' +
  'C-1,01000000001,Kim,a\n' +
  'C-2,01000000002,,b\n' +
  'C-3,01000000003,Lee,\n' +
  'C-4,01000000004,,\n';
const NDJSON = CSV.split('\n')
  .slice(1, -1)
  .map((line) => {
    const [customerNo, contact, var1, var2] = line.split(',');
    return `${JSON.stringify({ customerNo, contact, var1, var2 })}\n`;
  })
  .join('');

describe.each([
  ['list.csv', CSV],
  ['list.ndjson', NDJSON],
])('of %s', (name, text) => {
  it('an empty value of a variable is counted, and refused where it is required', async () => {
    const world = importWorld(redis);
    const list = listFile(text, name);
    expect(await world.import(list, { batchId: 'all' })).toMatchObject({
      contacts: 4,
      empty: { var1: 2, var2: 2 },
    });
    expect(await world.import(list, { batchId: 'some', require: ['var1'] })).toMatchObject({
      contacts: 2,
      refused: 2,
      empty: { var2: 1 },
      reasons: [{ field: 'var1', count: 2, reason: expect.stringContaining('empty') as string }],
    });
  });

  it('what is kept is not sent, stays with the contact, and is in the export of failures', async () => {
    const world = importWorld(redis);
    await world.import(listFile(text, name), { batchId: 'kept', keep: ['customerNo'] });
    const [payload] = await world.ledger.payloads('kept', ['0']);
    const contacts = await decodeContacts(payload ?? Buffer.alloc(0));
    expect(JSON.stringify(contacts)).not.toContain('C-1');
    expect(contacts.map((one) => keptOfContact(one)['customerNo'])).toEqual([
      'C-1',
      'C-2',
      'C-3',
      'C-4',
    ]);
    await world.ledger.control('kept', 'cancel');
    let csv = '';
    const source = { ...world, redis: redis.client, sealing: NO_SEALING };
    await writeEntries(source, { batch: 'kept', state: 'cancelled' }, (piece) => {
      csv += piece;
      return Promise.resolve(true);
    });
    const [titles = '', first = ''] = csv.split('\n');
    expect([titles, first]).toEqual([
      expect.stringMatching(/"rejected_keep_customerNo"$/),
      expect.stringMatching(/"C-1"$/),
    ]);
  });
});

it('a field that no column becomes cannot be required, nor a column kept that is not there', async () => {
  const world = importWorld(redis);
  const list = listFile(CSV);
  await expect(world.import(list, { require: ['var3'] })).rejects.toThrow(/sent as var3/);
  await expect(world.import(list, { keep: ['no'] })).rejects.toThrow(/"no", which does not exist/);
});

it('a list is spread over a time: its rate follows from its contacts', async () => {
  const world = importWorld(redis);
  const list = Array.from({ length: 100 }, (_, index) => ({ contact: `010${10_000_000 + index}` }));
  await world.import(list, { batchId: 'slow', spread: '50s', paused: true });
  expect(await world.ledger.read('slow')).toMatchObject({ rate: 2 });
  await expect(world.import(list, { rate: 1, spread: 1_000 })).rejects.toThrow(
    /only one of "rate"/,
  );
});

it('an import goes on when its start has passed; a new one is refused', async () => {
  const world = importWorld(redis);
  const list = [{ contact: '01000000001' }];
  const [soon, past] = [Date.now() + 1_000, Date.now() - 1_000];
  await world.import(list, { batchId: 'nine', startAt: soon });
  await until(() => Date.now() > soon, { what: 'its start to pass' });
  await world.ledger.control('nine', 'resume');
  const again = await world.import(list, { batchId: 'nine', startAt: soon });
  expect(again).toMatchObject({ alreadyImported: true });
  await expect(world.import(list, { batchId: 'new', again: true, startAt: past })).rejects.toThrow(
    /startAt: expected a time in the future/,
  );
});

it.each([
  ['paused', { paused: true }],
  ['startAt', { startAt: Date.now() + 900_000 }],
  ['keep', { keep: ['customerNo'] }],
])('the same list with another %s is refused for it, with its batch id', async (name, other) => {
  const world = importWorld(redis);
  const list = listFile(CSV);
  await world.import(list, { batchId: 'b' });
  const failure = await failureOf(world.import(list, { batchId: 'b', ...other }));
  expect(failure).toMatchObject({ code: 'BATCH_CONFLICT' });
  expect(failure.message).toContain(`other options (${name})`);
});

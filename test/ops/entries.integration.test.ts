import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { groupFailures } from '../../src/batch/failures/failures.ts';
import { allAccepted, allBack, allFailed } from '../../src/batch/ledger/settlement.ts';
import type { Contact } from '../../src/contracts/notice.ts';
import type { EntrySource, EntrySelect } from '../../src/ops/entries.ts';
import { writeEntries } from '../../src/ops/entries-csv.ts';
import { keysOf } from '../../src/redis/keys.ts';
import { buildBatch, contacts, part } from '../batch/support/built-batch.ts';
import { testRedis } from '../support/redis.ts';
import { parkNotice } from './support/parked-notice.ts';

const redis = testRedis();

async function bench(...lists: (readonly Contact[])[]) {
  const prefix = redis.freshPrefix();
  const batch = await buildBatch(redis.client, prefix, 'b', lists);
  const source = { redis: redis.client, keys: keysOf(prefix, 'default'), ledger: batch.ledger };
  const groups = async (filter?: Parameters<typeof groupFailures>[2]) =>
    groupFailures(batch.ledger, await batch.read(), filter);
  return { ...batch, prefix, source, groups };
}

async function exported(source: EntrySource, select: EntrySelect = { batch: 'b' }) {
  let text = '';
  const report = await writeEntries(source, select, (piece) => {
    text += piece;
    return Promise.resolve(true);
  });
  // With a byte order mark, for spreadsheets.
  expect(text.startsWith('\ufeff"contact",')).toBe(true);
  const rows: Record<string, string>[] = parse(text, { columns: true, bom: true });
  return { report, rows, numbers: rows.map(({ contact = '' }) => contact).sort() };
}

describe('what was not accepted of a batch, by state and code', () => {
  it('adds up, the largest group first, also after decisions, and is filtered', async () => {
    const { groups, ledger, ...built } = await bench(
      contacts(10),
      contacts(10, 10),
      contacts(10, 20),
    );
    await built.settle(0, allFailed('rejected', 'BAD_TEMPLATE', 'no such template'));
    await built.settle(1, {
      accepted: 6,
      failed: [
        await part('rejected', 'BAD_NUMBER', contacts(2, 10)),
        await part('rejected', 'BAD_NUMBER', contacts(1, 12)),
        await part('expired', 'EXPIRED', contacts(1, 13)),
      ],
    });
    await built.settle(2, allFailed('unknown', 'OUTCOME_UNKNOWN', ''));
    const brief = async () =>
      (await groups()).map(({ state, code, contacts: size }) => `${state} ${code} ${size}`);
    expect(await brief()).toEqual([
      'rejected BAD_TEMPLATE 10',
      'unknown OUTCOME_UNKNOWN 10',
      'rejected BAD_NUMBER 3',
      'expired EXPIRED 1',
    ]);
    expect(await groups({ state: 'rejected', code: 'BAD_NUMBER' })).toEqual([
      { state: 'rejected', code: 'BAD_NUMBER', contacts: 3, message: 'about BAD_NUMBER' },
    ]);
    expect(await ledger.redrive('b', '0', 'rejected')).toBe('redriven');
    expect(await ledger.resolve('b', '2', 'accepted')).toBe(true);
    await built.settle((await built.read()).chunks - 1, allFailed('unknown', 'NEW', ''));
    expect(await brief()).toEqual(['unknown NEW 10', 'rejected BAD_NUMBER 3', 'expired EXPIRED 1']);
  });

  it('of a cancelled one: what was never sent, and what may have been, from its counters', async () => {
    const { ledger, groups, ...built } = await bench(
      contacts(10),
      contacts(10, 10),
      contacts(10, 20),
    );
    await built.settle(0, allBack(true));
    await built.settle(1, allFailed('unknown', 'HTTP_500', ''));
    await ledger.control('b', 'cancel');
    expect(
      (await groups()).map(({ state, code, contacts: size }) => `${state} ${code} ${size}`),
    ).toEqual(['cancelled CANCELLED 10', 'unknown HTTP_500 10', 'unknown OUTCOME_UNKNOWN 10']);
    // What a person discarded was sent.
    await ledger.resolve('b', '1', 'cancelled');
    const [largest] = await groups();
    expect(largest).toMatchObject({
      state: 'cancelled',
      contacts: 20,
      message: 'never sent, or discarded or erased',
    });
  });
});

describe('the export', () => {
  it('has a line for each contact, of notices and lists, with its fields, and why', async () => {
    const odd: Contact[] = [
      { contact: '01000000020', var1: '=cmd|1', name: 'a "b", c\nd', tags: ['x', 1] },
      { contact: '01000000021', var2: '김민준' },
    ];
    const { source, prefix, ...built } = await bench(contacts(2), odd, contacts(1, 30));
    const bad = await part('rejected', 'BAD_NUMBER', contacts(1, 1));
    await built.settle(0, { accepted: 1, failed: [bad] });
    await built.settle(1, allFailed('rejected', 'HTTP_500', 'it broke (trace id t-9)'));
    await built.settle(2, allFailed('unknown', 'HTTP_503', ''));
    const { rows, report } = await exported(source);
    expect(report).toEqual({ contacts: 3, gone: 0 });
    const byNumber = new Map(rows.map((row) => [row['contact'], row]));
    expect(byNumber.get('01000000001')).toEqual({
      contact: '01000000001',
      var1: 'value 1',
      var2: '',
      name: '',
      tags: '',
      rejected_row: '',
      rejected_state: 'rejected',
      rejected_code: 'BAD_NUMBER',
      rejected_reason: 'about BAD_NUMBER',
      rejected_at: expect.stringMatching(/^\d{4}-.*Z$/) as string,
      rejected_template: 'T',
      rejected_trace_id: '',
      rejected_stage: '',
      rejected_possibly_sent: '',
      rejected_notice: '',
      rejected_batch: 'b',
    });
    expect(byNumber.get('01000000020')).toMatchObject({
      var1: "'=cmd|1",
      name: 'a "b", c\nd',
      tags: '["x",1]',
      rejected_state: 'rejected',
      rejected_reason: 'it broke (trace id t-9)',
      rejected_trace_id: 't-9',
    });
    expect(byNumber.get('01000000021')).toMatchObject({ var2: '김민준', var1: '' });

    // Without a batch: notices, and what is unknown of all lists, if it is named.
    const { id } = await parkNotice(redis, {}, prefix, undefined, { traceIds: ['one', 'two'] });
    expect((await exported(source, {})).numbers).toEqual([]);
    const all = await exported(source, { state: 'unknown' });
    expect(all.numbers).toEqual(['01000000001', '01000000030']);
    expect(all.rows[0]).toMatchObject({
      rejected_notice: id,
      rejected_stage: 'sent',
      rejected_possibly_sent: '1',
      rejected_trace_id: 'one two',
      rejected_template: 'ONCE',
    });
  });

  it('of a cancelled batch has what was never sent, and apart from it what may have been', async () => {
    const lists = [contacts(2), contacts(2, 2), contacts(2, 4), contacts(1, 6)];
    const { ledger, source, ...built } = await bench(...lists);
    await built.settle(0, allAccepted());
    await built.settle(1, allBack(true));
    await ledger.control('b', 'cancel');
    // It ended in this millisecond.
    const before = Date.now() + 1_000;
    const cancelled = await exported(source, { batch: 'b', state: 'cancelled', before });
    expect(cancelled.numbers).toEqual(['01000000004', '01000000005', '01000000006']);
    expect(cancelled.rows[0]).toMatchObject({ rejected_code: 'CANCELLED' });
    const unknown = await exported(source, { batch: 'b', state: 'unknown', before });
    expect(unknown.numbers).toEqual(['01000000002', '01000000003']);
    const { counts } = await built.read();
    expect(counts).toMatchObject({ cancelled: 3, unknown: 2, accepted: 2 });
  });

  it('leaves out what was sent again meanwhile, and counts it', async () => {
    const { source, ledger, ...built } = await bench(contacts(2));
    await built.settle(0, allFailed('rejected', 'X', ''));
    ledger.payload = () => Promise.resolve(undefined);
    expect((await exported(source)).report).toEqual({ contacts: 0, gone: 1 });
  });
});

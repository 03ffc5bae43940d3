import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { exportFailures } from '../../../src/batch/failures/export-failures.ts';
import { decodeContacts } from '../../../src/payload/chunk-payload.ts';
import type { FailureFilter } from '../../../src/batch/failures/select-failures.ts';
import { allAccepted, allBack, allFailed } from '../../../src/batch/ledger/settlement.ts';
import type { Contact } from '../../../src/contracts/notice.ts';
import { testRedis } from '../../support/redis.ts';
import { buildBatch, contacts, part, type BuiltBatch } from '../support/built-batch.ts';

const redis = testRedis();

interface Exported {
  readonly text: string;
  readonly rows: readonly Record<string, string>[];
  readonly report: { readonly contacts: number; readonly gone: number };
}

async function exported(built: BuiltBatch, filter: FailureFilter = {}): Promise<Exported> {
  const batch = await built.read();
  let text = '';
  const report = await exportFailures(
    built.ledger,
    batch,
    filter,
    (payload) => decodeContacts(payload),
    (piece) => {
      text += piece;
      return Promise.resolve(true);
    },
  );
  return { text, report, rows: parse(text, { columns: true }) };
}

const numbers = (rows: readonly Record<string, string>[]) =>
  rows.map(({ contact }) => contact ?? '').sort();

describe('exportFailures', () => {
  it('a line for each contact, with its fields, and why', async () => {
    const odd: Contact[] = [
      { contact: '01000000020', var1: '=cmd|1', name: 'a "b", c\nd', tags: ['x', 1] },
      { contact: '01000000021', var2: '김민준' },
    ];
    const lists = [contacts(2), odd];
    const built = await buildBatch(redis.client, redis.freshPrefix(), 'b', lists);
    const bad = await part('rejected', 'BAD_NUMBER', contacts(1, 1));
    await built.settle(0, { accepted: 1, failed: [bad] });
    await built.settle(1, allFailed('unknown', 'HTTP_500', 'it broke'));
    const { rows, report, text } = await exported(built);
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
    });
    expect(byNumber.get('01000000020')).toMatchObject({
      var1: "'=cmd|1",
      name: 'a "b", c\nd',
      tags: '["x",1]',
      rejected_state: 'unknown',
      rejected_code: 'HTTP_500',
      rejected_reason: 'it broke',
    });
    expect(byNumber.get('01000000021')).toMatchObject({ var2: '김민준', var1: '' });
    expect(text.startsWith('"contact",')).toBe(true);
  });

  it('by state and by code', async () => {
    const built = await buildBatch(redis.client, redis.freshPrefix(), 'b', [
      contacts(2),
      contacts(2, 2),
      contacts(2, 4),
    ]);
    await built.settle(0, allFailed('rejected', 'A', ''));
    await built.settle(1, allFailed('rejected', 'B', ''));
    await built.settle(2, allFailed('expired', 'EXPIRED', ''));
    expect((await exported(built, { state: 'rejected' })).rows).toHaveLength(4);
    expect(numbers((await exported(built, { code: 'B' })).rows)).toEqual([
      '01000000002',
      '01000000003',
    ]);
    expect((await exported(built, { state: 'expired', code: 'A' })).report.contacts).toBe(0);
    expect((await exported(built, { state: 'unknown' })).text).toMatch(
      /^"contact","rejected_row",/,
    );
  });

  it('a cancelled batch: what was never sent, and apart from it what may have been', async () => {
    const lists = [contacts(2), contacts(2, 2), contacts(2, 4), contacts(1, 6)];
    const built = await buildBatch(redis.client, redis.freshPrefix(), 'b', lists);
    await built.settle(0, allAccepted());
    await built.settle(1, allBack(true));
    await built.ledger.control('b', 'cancel');
    const cancelled = await exported(built, { state: 'cancelled' });
    expect(numbers(cancelled.rows)).toEqual(['01000000004', '01000000005', '01000000006']);
    expect(cancelled.rows[0]).toMatchObject({
      rejected_state: 'cancelled',
      rejected_code: 'CANCELLED',
    });
    const unknown = await exported(built, { state: 'unknown' });
    expect(numbers(unknown.rows)).toEqual(['01000000002', '01000000003']);
    const { counts } = await built.read();
    expect(counts).toMatchObject({ cancelled: 3, unknown: 2, accepted: 2 });
  });

  it('skips what was redriven meanwhile, and reports it', async () => {
    const built = await buildBatch(redis.client, redis.freshPrefix(), 'b', [contacts(2)]);
    await built.settle(0, allFailed('rejected', 'X', ''));
    const source = {
      failures: (id: string) => built.ledger.failures(id),
      states: (id: string, first: number, end: number) => built.ledger.states(id, first, end),
      payload: () => Promise.resolve(undefined),
    };
    const batch = await built.read();
    const report = await exportFailures(
      source,
      batch,
      {},
      (payload) => decodeContacts(payload),
      () => Promise.resolve(true),
    );
    expect(report).toEqual({ contacts: 0, gone: 1 });
  });
});

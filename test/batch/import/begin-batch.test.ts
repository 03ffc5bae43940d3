import { describe, expect, it } from 'vitest';
import { decideImport, type SendingOptions } from '../../../src/batch/import/begin-batch.ts';
import { batchFrom, type Batch } from '../../../src/batch/ledger/batch-record.ts';

function batch(id: string, fields: Record<string, string> = {}): Batch {
  const plan = { phase: 'importing', chunkSize: '100', delivery: 'at-least-once', bisect: '1' };
  const read = batchFrom(id, { ...plan, ...fields });
  if (read === undefined) throw new Error('no batch');
  return read;
}

const running = batch('b');
const ended = batch('b', { phase: 'sending', importedAt: '5' });
const cancelled = batch('b', { phase: 'cancelled', importedAt: '5' });
const none: SendingOptions = {};
const anew = { batchId: 'n', again: true };
const same = (of: Batch) => ({ batch: of, sameList: true });

describe('what becomes of a list', () => {
  it.each([
    ['a new list', {}, none, {}, 'create'],
    ['a new list with an id', {}, none, { batchId: 'n' }, 'create'],
    ['stopped before its end', { earlier: running }, none, {}, 'continue'],
    ['stopped, with the same rate', { earlier: running }, { chunkSize: 100 }, {}, 'continue'],
    ['stopped, with --again', { earlier: running }, none, { again: true }, 'continue'],
    ['stopped, another rate', { earlier: running }, { rate: 100 }, {}, 'repeated'],
    ['stopped, rate, --again', { earlier: running }, { rate: 1 }, { again: true }, 'create'],
    ['stopped, another id', { earlier: running }, none, { batchId: 'n' }, 'repeated'],
    ['stopped, another id, --again', { earlier: running }, none, anew, 'create'],
    ['imported', { earlier: ended }, none, {}, 'repeated'],
    ['imported, another rate', { earlier: ended }, { rate: 100 }, {}, 'repeated'],
    ['imported, another id', { earlier: ended }, none, { batchId: 'n' }, 'repeated'],
    ['imported, --again', { earlier: ended }, none, { again: true }, 'create'],
    ['cancelled', { earlier: cancelled }, none, {}, 'repeated'],
    ['cancelled, --again', { earlier: cancelled }, none, { again: true }, 'create'],
    ['named, stopped', { named: same(running) }, none, { batchId: 'b' }, 'continue'],
    ['named, imported', { named: same(ended) }, none, { batchId: 'b' }, 'ended'],
    ['named, imported, --again', { named: same(ended) }, none, { again: true }, 'ended'],
    ['named, cancelled', { named: same(cancelled) }, none, { batchId: 'b' }, 'cancelled'],
    ['named, another rate', { named: same(running) }, { rate: 1 }, {}, 'conflict'],
    ['named, imported, other chunks', { named: same(ended) }, { chunkSize: 7 }, {}, 'conflict'],
    ['named, another list', { named: { batch: ended, sameList: false } }, none, {}, 'conflict'],
  ] as const)('%s', (_, found, sending, more, kind) => {
    expect(decideImport(found, { again: false, ...sending, ...more }).kind).toBe(kind);
  });

  it('names the options that differ', () => {
    const options = {
      chunkSize: 5,
      delivery: 'at-most-once',
      expiresAt: 9,
      rate: 3,
      bisect: false,
    } as const;
    expect(decideImport({ earlier: running }, { again: false, ...options })).toMatchObject({
      differing: ['chunkSize', 'delivery', 'expiresAt', 'rate', 'bisect'],
    });
  });
});

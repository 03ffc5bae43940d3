import { describe, expect, it } from 'vitest';
import { batchFrom, type Batch, type BatchPhase } from '../../src/batch/ledger/batch-record.ts';
import { someWorker } from './web/pages/snapshots.ts';
import { batchToJson } from '../../src/ops/answers/batch.ts';
import { summarizeBatches } from '../../src/ops/status.ts';

const FLEET = { workers: [someWorker({ active: 0 })], hold: undefined, templateHolds: [], now: 0 };
const sum = {
  state: 'rejected',
  code: 'TEMPLATE_NOT_APPROVED',
  message: '',
} as const;
function of(id: string, phase: BatchPhase, some: Partial<Batch> = {}): Batch {
  const batch = batchFrom(id, { phase, importedAt: '5' });
  if (batch === undefined) throw new Error('no batch');
  return { ...batch, ...some };
}
const counts = (some: Partial<Batch['counts']>) => ({ ...of('b', 'sending').counts, ...some });
/** @param nextAttempt when the jobs of each batch are due */
const summary = async (
  batches: readonly Batch[],
  importing: readonly string[] = [],
  ofAll = { pending: 0, unknown: 0 },
  nextAttempt?: number,
) =>
  summarizeBatches(
    {
      list: () => Promise.resolve([...batches]),
      isImporting: (id) => Promise.resolve(importing.includes(id)),
      nextAttempt: () => Promise.resolve(nextAttempt),
      failureSums: () => Promise.resolve([{ ...sum, contacts: 2 }]),
    },
    ofAll,
    FLEET,
  );

describe('the summary of batches', () => {
  it.each<[BatchPhase, number, boolean]>([
    ['importing', 0, true],
    ['sending', 3, true],
    ['paused', 3, true],
    ['cancelled', 3, true],
    ['cancelled', 0, false],
    ['finished', 0, false],
  ])('%s with %i pending: open %s', async (phase, pending, isOpen) => {
    const { open } = await summary([of('b', phase, { counts: counts({ pending }) })]);
    expect(open).toBe(isOpen ? 1 : 0);
  });

  it.each<[string, Partial<Batch>, readonly string[], boolean]>([
    ['is running', { importedAt: 0 }, ['b'], false],
    ['stopped', { importedAt: 0 }, [], true],
    ['has ended', { importedAt: 5 }, [], false],
  ])('an import that %s', async (_what, some, importing, stopped) => {
    const [batch] = (await summary([of('b', 'importing', some)], importing)).openBatches;
    expect(batch?.continueImport).toBe(
      stopped ? "notices import FILE --template '' --batch b" : undefined,
    );
  });

  it('adds up what was rejected, and has what can be resolved of all batches', async () => {
    const failed = { counts: counts({ rejected: 2, unknown: 3 }) };
    const some = [of('a', 'finished', failed), of('b', 'cancelled', failed)];
    expect(await summary(some, [], { pending: 7, unknown: 9 })).toMatchObject({
      pending: 7,
      open: 0,
      rejected: 4,
      unknown: 9,
      refused: [
        { id: 'a', rejected: 2, code: 'TEMPLATE_NOT_APPROVED' },
        { id: 'b', rejected: 2, code: 'TEMPLATE_NOT_APPROVED' },
      ],
    });
  });

  it('says when a list starts by itself, and not when it waits for a person', async () => {
    const startsOf = async (startAt: number) =>
      (await summary([of('b', 'paused', { startAt })])).openBatches[0]?.startAt;
    expect([await startsOf(5), await startsOf(-1), await startsOf(0)]).toEqual([
      5,
      undefined,
      undefined,
    ]);
  });

  it('lists ten at most, and counts all', async () => {
    const many = Array.from({ length: 12 }, (_, at) => of(`b${at}`, 'sending'));
    const { open, openBatches } = await summary(many);
    expect([open, openBatches.length, openBatches[0]?.id]).toEqual([12, 10, 'b0']);
  });
});

it('the remaining time follows the rate of the list, where that is lower than its average so far', () => {
  const record = {
    phase: 'sending',
    total: '4000',
    pending: '3000',
    accepted: '1000',
    begunAt: '1',
  };
  const rest = (rate: string) => {
    const batch = batchFrom('b', { ...record, rate });
    if (batch === undefined) throw new Error('no batch');
    return batchToJson(batch, 100_001, { standstill: undefined, stalled: false }).restMs;
  };
  // 10 contacts a second so far.
  expect(rest('0')).toBe(300_000);
  expect(rest('2')).toBe(1_500_000);
  expect(rest('50')).toBe(300_000);
});

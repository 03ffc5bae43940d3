import { describe, expect, it } from 'vitest';
import { batchFrom, type Batch, type BatchPhase } from '../../src/batch/ledger/batch-record.ts';
import { someWorker } from './web/pages/snapshots.ts';
import { summarizeBatches } from '../../src/ops/batches-summary.ts';

const FLEET = { workers: [someWorker({ active: 0 })], hold: undefined, now: 0 };
function of(id: string, phase: BatchPhase, some: Partial<Batch> = {}): Batch {
  const batch = batchFrom(id, { phase, importedAt: '5' });
  if (batch === undefined) throw new Error('no batch');
  return { ...batch, ...some };
}
const counts = (some: Partial<Batch['counts']>) => ({ ...of('b', 'sending').counts, ...some });
const summary = (batches: readonly Batch[], importing: readonly string[] = [], pending = 0) =>
  summarizeBatches({ batches, importing: new Set(importing) }, pending, FLEET);

describe('the summary of batches', () => {
  it.each<[BatchPhase, number, boolean]>([
    ['importing', 0, true],
    ['sending', 3, true],
    ['paused', 3, true],
    ['cancelled', 3, true],
    ['cancelled', 0, false],
    ['finished', 0, false],
  ])('%s with %i pending: open %s', (phase, pending, isOpen) => {
    const { open } = summary([of('b', phase, { counts: counts({ pending }) })]);
    expect(open).toBe(isOpen ? 1 : 0);
  });

  it.each<[string, Partial<Batch>, readonly string[], boolean]>([
    ['is running', { importedAt: 0 }, ['b'], false],
    ['stopped', { importedAt: 0 }, [], true],
    ['has ended', { importedAt: 5 }, [], false],
  ])('an import that %s', (_what, some, importing, stopped) => {
    const [batch] = summary([of('b', 'importing', some)], importing).openBatches;
    expect(batch?.importStopped).toBe(stopped);
    expect(batch?.continueImport).toBe(
      stopped ? "notices import FILE --template '' --batch b" : undefined,
    );
  });

  it('adds up what was rejected, and what can be resolved', () => {
    const failed = { counts: counts({ rejected: 2, unknown: 3 }) };
    expect(
      summary([of('a', 'finished', failed), of('b', 'cancelled', failed)], [], 7),
    ).toMatchObject({ pending: 7, open: 0, rejected: 4, unknown: 6 });
  });

  it('lists ten at most, and counts all', () => {
    const many = Array.from({ length: 12 }, (_, at) => of(`b${at}`, 'sending'));
    const { open, openBatches } = summary(many);
    expect([open, openBatches.length, openBatches[0]?.id]).toEqual([12, 10, 'b0']);
  });
});

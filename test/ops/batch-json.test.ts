import { expect, it } from 'vitest';
import { batchFrom } from '../../src/batch/ledger/batch-record.ts';
import { batchToJson } from '../../src/ops/answers/batch.ts';

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

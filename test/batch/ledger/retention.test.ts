import { expect, it } from 'vitest';
import { batchFrom } from '../../../src/batch/ledger/batch-record.ts';
import { nearEndOfRetention } from '../../../src/batch/ledger/retention.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const failed = { rejected: 1, unknown: 1, expired: 1 };
const read = batchFrom('b', { phase: 'finished' });
if (read === undefined) throw new Error('no batch');
const batch = {
  finishedAt: 100 * DAY,
  retentionMs: 30 * DAY,
  counts: { ...read.counts, total: 10, accepted: 7, ...failed },
};
const shortly = { retentionMs: 10 * HOUR };
const allAccepted = { counts: { ...read.counts, total: 10, accepted: 10 } };

it.each<[string, Partial<typeof batch>, number, boolean]>([
  ['long before', {}, 110 * DAY, false],
  ['a moment before the last three days', {}, 127 * DAY - 1, false],
  ['in the last three days', {}, 127 * DAY, true],
  ['when its time is over', {}, 131 * DAY, true],
  ['a short retention, before its last fifth', shortly, 100 * DAY + 7 * HOUR, false],
  ['a short retention, in its last fifth', shortly, 100 * DAY + 8 * HOUR, true],
  ['a batch that is not over', { finishedAt: 0 }, 200 * DAY, false],
  ['all accepted', allAccepted, 129 * DAY, false],
])('the end of the retention is near: %s', (_name, change, now, warns) => {
  expect(nearEndOfRetention({ ...batch, ...change }, now) !== undefined).toBe(warns);
});

it('returns how many contacts, and for how long', () => {
  const near = { contacts: 3, keptUntil: 130 * DAY, restMs: DAY };
  expect(nearEndOfRetention(batch, 129 * DAY)).toEqual(near);
});

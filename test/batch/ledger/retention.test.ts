import { describe, expect, it } from 'vitest';
import { nearEndOfRetention } from '../../../src/batch/ledger/retention.ts';

const DAY = 24 * 3_600_000;

describe('nearEndOfRetention', () => {
  const counts = {
    total: 10,
    pending: 0,
    sending: 0,
    accepted: 7,
    rejected: 1,
    unknown: 1,
    expired: 1,
    cancelled: 0,
    suppressed: 0,
    possiblySentTwice: 0,
  };
  const batch = { finishedAt: 100 * DAY, retentionMs: 30 * DAY, counts };

  it.each<[string, Partial<typeof batch>, number, boolean]>([
    ['long before', {}, 110 * DAY, false],
    ['a moment before the last three days', {}, 127 * DAY - 1, false],
    ['in the last three days', {}, 127 * DAY, true],
    ['when its time is over', {}, 131 * DAY, true],
    [
      'a short retention, before its last fifth',
      { retentionMs: 10 * 3_600_000 },
      100 * DAY + 7 * 3_600_000,
      false,
    ],
    [
      'a short retention, in its last fifth',
      { retentionMs: 10 * 3_600_000 },
      100 * DAY + 8 * 3_600_000,
      true,
    ],
    ['a batch that is not over', { finishedAt: 0 }, 200 * DAY, false],
    [
      'all accepted',
      { counts: { ...counts, rejected: 0, unknown: 0, expired: 0 } },
      129 * DAY,
      false,
    ],
  ])('%s', (_name, change, now, warns) => {
    expect(nearEndOfRetention({ ...batch, ...change }, now) !== undefined).toBe(warns);
  });

  it('returns how many contacts, and for how long', () => {
    expect(nearEndOfRetention(batch, 129 * DAY)).toEqual({
      contacts: 3,
      keptUntil: 130 * DAY,
      restMs: DAY,
    });
  });
});

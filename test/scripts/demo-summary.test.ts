import { describe, expect, it } from 'vitest';
import { summarise } from '../../scripts/demo/summary.ts';

const counts = (
  change: Partial<Record<'accepted' | 'rejected' | 'unknown' | 'pending', number>>,
) => ({
  total: 100,
  pending: 0,
  sending: 0,
  accepted: 0,
  rejected: 0,
  unknown: 0,
  expired: 0,
  cancelled: 0,
  suppressed: 0,
  possiblySentTwice: 0,
  ...change,
});
const record = (distinct: number, twice = 0) => ({
  contacts: distinct + twice,
  distinct,
  twice,
  tokens: { issued: 2 },
});

describe('the summary of the demo', () => {
  it.each([
    ['all accepted', counts({ accepted: 100 }), record(100), true],
    ['some rejected', counts({ accepted: 97, rejected: 3 }), record(97), true],
    ['unknown, none taken', counts({ accepted: 90, unknown: 10 }), record(90), true],
    ['unknown, all taken', counts({ accepted: 90, unknown: 10 }), record(100), true],
    ['one lost', counts({ accepted: 99, pending: 1 }), record(99), false],
    ['one twice', counts({ accepted: 100 }), record(100, 1), false],
    ['accepted, but not taken', counts({ accepted: 100 }), record(99), false],
    ['taken, but not known', counts({ accepted: 90, rejected: 10 }), record(91), false],
  ] as const)('%s', (_, ledger, emulator, agrees) => {
    expect(summarise(ledger, emulator).agrees).toBe(agrees);
  });

  it('says what is unknown, and what of it was taken', () => {
    const { lines } = summarise(counts({ accepted: 87, rejected: 3, unknown: 10 }), record(91));
    expect(lines).toEqual([
      'contacts handed over    100',
      'accepted by the service 91',
      'rejected                3',
      'known as accepted       87',
      'unknown                 10, of which 4 were taken',
      'sent twice              0',
      'lost                    0',
      'tokens issued           2',
    ]);
  });
});

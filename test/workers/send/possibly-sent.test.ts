import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/contracts/outcome.ts';
import { possibleSends } from '../../../src/fleet/job-history.ts';
import { knownAfter } from '../../../workers/send/notice-intent.ts';

const ACCEPTED: Outcome = { kind: 'accepted', confirmed: true };
const REJECTED: Outcome = { kind: 'rejected', code: 'NO' };
const RETRY: Outcome = { kind: 'retry', code: 'ECONNREFUSED', counted: true };
const UNCOUNTED: Outcome = { kind: 'retry', code: 'HTTP_401', counted: false };
const UNKNOWN: Outcome = { kind: 'unknown', code: 'TIMEOUT' };
const HOLD: Outcome = { kind: 'hold', hold: 'credit', code: 'HTTP_402', scope: 'all' };
const EXPIRED: Outcome = { kind: 'expired' };

const earlier = (code: string): Outcome => ({
  kind: 'unknown',
  code,
  final: true,
  earlier: true,
});

const NONE = { possiblySent: 0 };

describe('knownAfter', () => {
  it.each<[Outcome | undefined, boolean, Outcome | undefined]>([
    [REJECTED, false, earlier('NO')],
    [REJECTED, true, earlier('NO')],
    [EXPIRED, false, earlier('OUTCOME_UNKNOWN')],
    [RETRY, true, earlier('ECONNREFUSED')],
    [RETRY, false, RETRY],
    [UNCOUNTED, true, UNCOUNTED],
    [ACCEPTED, true, ACCEPTED],
    [UNKNOWN, false, UNKNOWN],
    [HOLD, true, HOLD],
    [undefined, true, undefined],
  ])('after doubt, %j, last attempt %s', (outcome, lastAttempt, known) => {
    const run = { mostResends: 2, lastAttempt };
    expect(knownAfter(outcome, { possiblySent: 1, before: NONE, ...run })).toEqual(known);
    // The same after it was sent again.
    const before = { possiblySent: 1 };
    expect(knownAfter(outcome, { possiblySent: 0, before, ...run })).toEqual(known);
  });

  it.each([ACCEPTED, REJECTED, RETRY, UNKNOWN, HOLD, EXPIRED, undefined])(
    'without doubt, %j stays',
    (outcome) => {
      const run = { possiblySent: 0, before: NONE, mostResends: 2, lastAttempt: true };
      expect(knownAfter(outcome, run)).toBe(outcome);
    },
  );
});

describe('the resends of an unknown outcome', () => {
  it.each([
    [0, 2, false],
    [1, 2, false],
    [2, 2, true],
    [0, 0, true],
  ])('possibly sent %d times before, UNKNOWN_RESENDS %d: the last one %s', (before, most, last) => {
    // Those before it was sent again do not count.
    const run = { possiblySent: before, before: { possiblySent: 9 }, mostResends: most };
    expect(knownAfter(UNKNOWN, { ...run, lastAttempt: false })).toEqual(
      last ? { ...UNKNOWN, final: true } : UNKNOWN,
    );
  });
});

describe('what the service may have accepted of a job', () => {
  const ended = (count: number) =>
    Array.from({ length: count }, (_, index) => ({
      run: `run ${index}`,
      code: 'HTTP_503',
      traceId: `t-${index}`,
    }));

  it.each([
    ['never tried', 0, 0, 0],
    ['ended unknown three times', 3, 0, 3],
    ['its worker died with it', 0, 1, 1],
    ['both', 2, 1, 3],
  ])('%s', (_, unknown, stalls, attempts) => {
    expect(possibleSends({ unknown: ended(unknown) }, stalls).possiblySent).toBe(attempts);
  });

  it('has the newest ten trace ids', () => {
    const all = ended(12);
    expect(possibleSends({ unknown: all }, 0)).toEqual({
      possiblySent: 12,
      traceIds: all.slice(2).map(({ traceId }) => traceId),
    });
  });
});

import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/contracts/outcome.ts';
import {
  failureOf,
  possiblySentAttempts,
  possiblySentTraceIds,
  withPossiblySentMark,
} from '../../../src/contracts/possibly-sent.ts';
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
    expect(knownAfter(outcome, { possiblySent: 1, mostResends: 2, lastAttempt })).toEqual(known);
  });

  it.each([ACCEPTED, REJECTED, RETRY, UNKNOWN, HOLD, EXPIRED, undefined])(
    'without doubt, %j stays',
    (outcome) => {
      expect(knownAfter(outcome, { possiblySent: 0, mostResends: 2, lastAttempt: true })).toBe(
        outcome,
      );
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
    expect(
      knownAfter(UNKNOWN, { possiblySent: before, mostResends: most, lastAttempt: false }),
    ).toEqual(last ? { ...UNKNOWN, final: true } : UNKNOWN);
  });
});

describe('possiblySentAttempts', () => {
  it.each([
    ['never tried', undefined, 0, 0],
    ['tried, and surely not taken', 'ECONNREFUSED', 0, 0],
    ['ended unknown', `HTTP_500: ${withPossiblySentMark('HTTP 500 oops', 1)}`, 0, 1],
    ['ended unknown three times', `TIMEOUT: ${withPossiblySentMark('', 3)}`, 0, 3],
    ['its worker died with it', undefined, 1, 1],
    ['both', withPossiblySentMark('TIMEOUT', 2), 1, 3],
    ['a text of the service that looks like a mark', '(may have been taken: 7) oops', 0, 0],
    ['not marked', withPossiblySentMark('HTTP 400', 0), 0, 0],
    [
      'a message that is a mark',
      withPossiblySentMark('HTTP 400 (may have been taken: 7)', 0),
      0,
      0,
    ],
    ['such a message, and ours', withPossiblySentMark('oops (may have been taken: 7)', 1), 0, 1],
    ['an old mark', withPossiblySentMark('oops (may have been taken)', 0), 0, 0],
  ])('%s', (_, failedReason, stalledCounter, attempts) => {
    expect(possiblySentAttempts({ failedReason, stalledCounter })).toBe(attempts);
  });
});

describe('the trace ids of attempts that ended unknown', () => {
  /** How workers of an earlier version read the mark. */
  const EARLIER_VERSION = /\(may have been taken(?:: (\d{1,6}))?\)$/;

  it.each([
    [[], 'HTTP 503 busy (may have been taken: 2)'],
    [['t-1'], 'HTTP 503 busy (trace ids t-1) (may have been taken: 2)'],
    [['a/1:x', 'b.2_y'], 'HTTP 503 busy (trace ids a/1:x b.2_y) (may have been taken: 2)'],
  ])('%j are before the mark, which is read as before', (ids, reason) => {
    expect(withPossiblySentMark('HTTP 503 busy', 2, ids)).toBe(reason);
    const failedReason = `HTTP_503: ${reason}`;
    expect(possiblySentTraceIds({ failedReason })).toEqual(ids);
    expect(possiblySentAttempts({ failedReason })).toBe(2);
    expect(EARLIER_VERSION.exec(failedReason)?.[1]).toBe('2');
    expect(failureOf(failedReason)).toEqual({ code: 'HTTP_503', message: 'HTTP 503 busy' });
  });

  it('are the newest ten, also of the longest ones', () => {
    const ids = Array.from({ length: 12 }, (_, index) => String(index).padEnd(128, 'x'));
    const failedReason = withPossiblySentMark('', 12, ids);
    expect(possiblySentTraceIds({ failedReason })).toEqual(ids.slice(2));
    expect(possiblySentAttempts({ failedReason })).toBe(12);
  });

  it.each([
    ['no reason', undefined],
    ['a reason of an earlier version', 'HTTP_500: oops (may have been taken: 1)'],
    ['a text of the service without a mark', 'NO: (trace ids a b)'],
    ['a text of the service before the end', 'NO: (trace ids a) oops (may have been taken: 1)'],
  ])('are none in %s', (_, failedReason) => {
    expect(possiblySentTraceIds({ failedReason })).toEqual([]);
  });

  it('are not those that a message of the service ends with', () => {
    const message = 'busy (trace ids x-1 x-2)';
    const failedReason = `HTTP_503: ${withPossiblySentMark(message, 1)}`;
    expect(possiblySentTraceIds({ failedReason })).toEqual([]);
    expect(failureOf(failedReason).message).toBe('busy [trace ids x-1 x-2)');
    const own = `HTTP_503: ${withPossiblySentMark(message, 1, ['t-1'])}`;
    expect(possiblySentTraceIds({ failedReason: own })).toEqual(['t-1']);
  });

  it('are not stored where no attempt ended unknown', () => {
    expect(withPossiblySentMark('HTTP 400', 0, ['t-1'])).toBe('HTTP 400');
    expect(failureOf('NO: (trace ids a b)').message).toBe('(trace ids a b)');
  });
});

import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/contracts/outcome.ts';
import { knownAfter } from '../../../workers/send/notice-intent.ts';
import { possiblySentBefore, withPossiblySentMark } from '../../../workers/send/resends.ts';

const ACCEPTED: Outcome = { kind: 'accepted', confirmed: true };
const REJECTED: Outcome = { kind: 'rejected', code: 'NO' };
const RETRY: Outcome = { kind: 'retry', code: 'ECONNREFUSED', counted: true };
const UNCOUNTED: Outcome = { kind: 'retry', code: 'HTTP_401', counted: false };
const UNKNOWN: Outcome = { kind: 'unknown', code: 'TIMEOUT' };
const HOLD: Outcome = { kind: 'hold', hold: 'credit', code: 'HTTP_402' };
const EXPIRED: Outcome = { kind: 'expired' };

const final = (code: string): Outcome => ({ kind: 'unknown', code, final: true });

describe('knownAfter', () => {
  it.each<[Outcome | undefined, boolean, Outcome | undefined]>([
    [REJECTED, false, final('NO')],
    [REJECTED, true, final('NO')],
    [EXPIRED, false, final('OUTCOME_UNKNOWN')],
    [RETRY, true, final('ECONNREFUSED')],
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
    ).toEqual(last ? final('TIMEOUT') : UNKNOWN);
  });
});

describe('possiblySentBefore', () => {
  const job = (failedReason: string | undefined, stalledCounter = 0) =>
    ({ failedReason, stalledCounter }) as Parameters<typeof possiblySentBefore>[0];
  const mark = (detail: string, count: number, stalls = 0) =>
    withPossiblySentMark(detail, count, job(undefined, stalls));

  it.each<[string, ReturnType<typeof job>, number]>([
    ['never tried', job(undefined), 0],
    ['tried, and surely not taken', job('ECONNREFUSED'), 0],
    ['tried, without a mark', job(`HTTP_402: ${mark('HTTP 402', 0)}`), 0],
    ['tried twice, and perhaps taken', job(`HTTP_500: ${mark('HTTP 500 oops', 2)}`), 2],
    ['the same, without a word of the service', job(`TIMEOUT: ${mark('', 1)}`), 1],
    ['its worker died with it', job(undefined, 1), 1],
    ['a worker died before that mark', job(`TIMEOUT: ${mark('', 2, 1)}`, 1), 2],
    ['a worker died after that mark', job(`TIMEOUT: ${mark('', 2, 1)}`, 2), 3],
    ['a mark of an older version', job('HTTP_500: HTTP 500 (may have been taken)'), 1],
  ])('%s', (_, found, times) => {
    expect(possiblySentBefore(found)).toBe(times);
  });
});

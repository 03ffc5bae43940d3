import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/contracts/outcome.ts';
import {
  isPossiblySent,
  knownAfter,
  withPossiblySentMark,
} from '../../../workers/send/notice-intent.ts';

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
    expect(knownAfter(outcome, { possiblySent: true, lastAttempt })).toEqual(known);
  });

  it.each([ACCEPTED, REJECTED, RETRY, UNKNOWN, HOLD, EXPIRED, undefined])(
    'without doubt, %j stays',
    (outcome) => {
      expect(knownAfter(outcome, { possiblySent: false, lastAttempt: true })).toBe(outcome);
    },
  );
});

describe('isPossiblySent', () => {
  const job = (failedReason: string | undefined, stalledCounter = 0) =>
    ({ failedReason, stalledCounter }) as Parameters<typeof isPossiblySent>[0];

  it.each([
    ['never tried', job(undefined), false],
    ['tried, and surely not taken', job('ECONNREFUSED'), false],
    ['tried, and perhaps taken', job(`HTTP_500: ${withPossiblySentMark('HTTP 500 oops')}`), true],
    ['the same, without a word of the service', job(`TIMEOUT: ${withPossiblySentMark('')}`), true],
    ['its worker died with it', job(undefined, 1), true],
  ])('%s', (_, found, possiblySent) => {
    expect(isPossiblySent(found)).toBe(possiblySent);
  });
});

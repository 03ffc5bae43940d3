import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/contracts/outcome.ts';
import type { IntentVerdict } from '../../../src/fleet/intents/intents.ts';
import { intentEnd, type IntentEnd } from '../../../workers/send/notice-intent.ts';

const ACCEPTED: Outcome = { kind: 'accepted', confirmed: true };
const UNKNOWN: Outcome = { kind: 'unknown', code: 'TIMEOUT' };
const REJECTED: Outcome = { kind: 'rejected', code: 'NO' };
const RETRY: Outcome = { kind: 'retry', code: 'ECONNREFUSED', counted: true };
const HOLD: Outcome = { kind: 'hold', hold: 'credit', code: 'HTTP_402' };
const EXPIRED: Outcome = { kind: 'expired' };
type Verdict = IntentVerdict | 'asked' | undefined;

describe('intentEnd', () => {
  it.each<[Outcome | undefined, boolean, IntentEnd]>([
    [UNKNOWN, true, 'none'],
    [UNKNOWN, false, 'nothing'],
    [ACCEPTED, true, 'nothing'],
    [REJECTED, true, 'nothing'],
    [RETRY, true, 'nothing'],
    [undefined, true, 'nothing'],
  ])('at-least-once %j, last attempt %s: %s', (outcome, last, end) => {
    expect(intentEnd(undefined, undefined, outcome, last)).toBe(end);
  });

  it.each<[Verdict, Outcome | undefined, IntentEnd]>([
    [undefined, HOLD, 'nothing'],
    [undefined, undefined, 'nothing'],
    ['lost', undefined, 'nothing'],
    ['accepted', ACCEPTED, 'nothing'],
    ['unknown', UNKNOWN, 'any'],
    ['send', ACCEPTED, 'accepted'],
    ['send', UNKNOWN, 'own'],
    ['send', REJECTED, 'back'],
    ['send', RETRY, 'back'],
    ['send', HOLD, 'back'],
    ['send', EXPIRED, 'back'],
    ['send', undefined, 'back'],
    ['asked', undefined, 'back'],
    ['asked', UNKNOWN, 'own'],
    ['asked', ACCEPTED, 'accepted'],
  ])('at-most-once, %s, %j: %s', (verdict, outcome, end) => {
    expect(intentEnd('at-most-once', verdict, outcome, false)).toBe(end);
  });
});

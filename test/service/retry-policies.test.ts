import { describe, expect, it } from 'vitest';
import type { TransportFailure } from '../../src/service/http/classify-failure.ts';
import type { WireFacts } from '../../src/service/http/exchange.ts';
import { issueDelay, mayIssueAgain } from '../../src/service/issue-policy.ts';
import { nextTry } from '../../src/service/send-policy.ts';
import type { NextTry } from '../../src/service/send-policy.ts';

const facts = (more: Partial<WireFacts>): WireFacts => ({
  started: true,
  status: undefined,
  headers: undefined,
  chunks: [],
  ending: 'whole',
  failure: undefined,
  failureCode: undefined,
  tookMs: undefined,
  ...more,
});
const unsent = (failure: TransportFailure, failureCode?: string): WireFacts =>
  facts({ started: false, failure, failureCode });

describe('what follows a try of a send call', () => {
  it.each<[string, WireFacts | undefined, number, number, NextTry]>([
    ['401: another token', facts({ status: 401 }), 0, 0, 'renew'],
    ['403: another token', facts({ status: 403 }), 0, 0, 'renew'],
    ['401 for the second time', facts({ status: 401 }), 1, 0, 'stop'],
    ['403 after a 401', facts({ status: 403 }), 1, 0, 'stop'],
    ['200', facts({ status: 200 }), 0, 0, 'stop'],
    ['429', facts({ status: 429 }), 0, 0, 'stop'],
    ['503', facts({ status: 503 }), 0, 0, 'stop'],
    ['started, then reset', facts({ failure: 'reset' }), 0, 0, 'stop'],
    ['started, then silence', facts({ failure: 'timeout' }), 0, 0, 'stop'],
    ['refused connection, first time', unsent('refused-connection'), 0, 1, 'again'],
    ['refused connection, last retry', unsent('refused-connection'), 0, 2, 'again'],
    ['refused connection, retries used up', unsent('refused-connection'), 0, 3, 'stop'],
    ['connect timeout', unsent('timeout', 'UND_ERR_CONNECT_TIMEOUT'), 0, 1, 'again'],
    ['the deadline', unsent('timeout', 'DEADLINE'), 0, 1, 'stop'],
    ['a certificate', unsent('certificate'), 0, 1, 'stop'],
    ['given up', unsent('aborted'), 0, 1, 'stop'],
    ['after a renewal, not sent', unsent('reset'), 1, 1, 'again'],
    ['no try at all', undefined, 0, 0, 'stop'],
  ])('%s', (_name, seen, refusals, unsentTries, expected) => {
    expect(nextTry(seen, refusals, unsentTries, 2)).toBe(expected);
  });
});

describe('whether an issuance is tried again', () => {
  it.each<[string, WireFacts | undefined, boolean]>([
    ['500', facts({ status: 500 }), true],
    ['503', facts({ status: 503 }), true],
    ['not sent', unsent('refused-connection'), true],
    ['401', facts({ status: 401 }), false],
    ['403', facts({ status: 403 }), false],
    ['429', facts({ status: 429 }), false],
    ['302', facts({ status: 302 }), false],
    ['started, no answer', facts({ failure: 'timeout' }), false],
    ['started, reset', facts({ failure: 'reset' }), false],
    ['a certificate', unsent('certificate'), false],
    ['given up', unsent('aborted'), false],
    ['the deadline', unsent('timeout', 'DEADLINE'), false],
    ['no try', undefined, false],
  ])('%s', (_name, seen, expected) => {
    expect(mayIssueAgain(seen)).toBe(expected);
  });

  it('waits longer each time, with chance, up to a cap', () => {
    expect([1, 2, 3, 9].map((count) => issueDelay(count, 0))).toStrictEqual([50, 100, 200, 1_000]);
    expect([1, 2, 3, 9].map((count) => issueDelay(count, 1))).toStrictEqual([100, 200, 400, 2_000]);
  });
});

import { describe, expect, it } from 'vitest';
import type { TransportFailure } from '../../src/service/http/classify-failure.ts';
import type { WireFacts } from '../../src/service/http/exchange.ts';
import { issueDelay, mayRetryIssuance, mayRetrySend } from '../../src/service/retry-policies.ts';

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

describe('whether a send request is repeated as it is', () => {
  it.each<[string, WireFacts | undefined, number, boolean]>([
    ['401', facts({ status: 401 }), 0, false],
    ['403', facts({ status: 403 }), 0, false],
    ['200', facts({ status: 200 }), 0, false],
    ['429', facts({ status: 429 }), 0, false],
    ['503', facts({ status: 503 }), 0, false],
    ['started, then reset', facts({ failure: 'reset' }), 0, false],
    ['started, then silence', facts({ failure: 'timeout' }), 0, false],
    ['refused connection, first time', unsent('refused-connection'), 1, true],
    ['refused connection, last retry', unsent('refused-connection'), 2, true],
    ['refused connection, retries used up', unsent('refused-connection'), 3, false],
    ['connect timeout', unsent('timeout', 'UND_ERR_CONNECT_TIMEOUT'), 1, true],
    ['the deadline', unsent('timeout', 'DEADLINE'), 1, false],
    ['a certificate', unsent('certificate'), 1, false],
    ['given up', unsent('aborted'), 1, false],
    ['reset before it started', unsent('reset'), 1, true],
    ['no try at all', undefined, 0, false],
  ])('%s', (_name, seen, unsentTries, expected) => {
    expect(mayRetrySend(seen, unsentTries, 2)).toBe(expected);
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
    expect(mayRetryIssuance(seen)).toBe(expected);
  });

  it('waits longer each time, with chance, up to a cap', () => {
    expect([1, 2, 3, 9].map((count) => issueDelay(count, 0))).toStrictEqual([50, 100, 200, 1_000]);
    expect([1, 2, 3, 9].map((count) => issueDelay(count, 1))).toStrictEqual([100, 200, 400, 2_000]);
  });
});

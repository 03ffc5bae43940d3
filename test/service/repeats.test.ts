import { describe, expect, it } from 'vitest';
import type { TransportFailure, WireFacts } from '../../src/service/http/transport.ts';
import { mayRepeat, repeatDelay } from '../../src/service/client.ts';

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

const CASES: readonly [string, WireFacts | undefined, send: boolean, issuance: boolean][] = [
  ['401', facts({ status: 401 }), false, false],
  ['403', facts({ status: 403 }), false, false],
  ['200', facts({ status: 200 }), false, false],
  ['302', facts({ status: 302 }), false, false],
  ['429', facts({ status: 429 }), false, false],
  ['500', facts({ status: 500 }), false, true],
  ['503', facts({ status: 503 }), false, true],
  ['600', facts({ status: 600 }), false, false],
  ['started, then reset', facts({ failure: 'reset' }), false, false],
  ['started, then silence', facts({ failure: 'timeout' }), false, false],
  ['refused connection', unsent('refused-connection'), true, true],
  ['connect timeout', unsent('timeout', 'UND_ERR_CONNECT_TIMEOUT'), true, true],
  ['reset before it started', unsent('reset'), true, true],
  ['the deadline', unsent('timeout', 'DEADLINE'), false, false],
  ['a certificate', unsent('certificate'), false, false],
  ['given up', unsent('aborted'), false, false],
  ['no try at all', undefined, false, false],
];

describe('whether a request is repeated', () => {
  it.each(CASES)('%s', (_name, seen, send, issuance) => {
    const of = (repeatsFailures: boolean, cause?: string) =>
      mayRepeat({ facts: seen, repeatsFailures, deadline: { cause } });
    expect([of(false), of(true)]).toEqual([send, issuance]);
    expect([of(false, 'timeout'), of(true, 'aborted')]).toEqual([false, false]);
  });

  it('waits longer each time, with chance, up to a cap', () => {
    expect([1, 2, 3, 9].map((count) => repeatDelay(count, 0))).toStrictEqual([50, 100, 200, 1_000]);
    expect([1, 2, 3, 9].map((count) => repeatDelay(count, 1))).toStrictEqual([
      100, 200, 400, 2_000,
    ]);
  });
});

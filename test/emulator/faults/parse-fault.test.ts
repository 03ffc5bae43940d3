import { describe, expect, test } from 'vitest';
import { actsUnder, checkedFault, type Fault } from '../../../src/emulator/faults/fault.ts';
import { parseFault } from '../../../src/emulator/faults/parse-fault.ts';

describe('a fault in one line', () => {
  test.each<readonly [string, Fault]>([
    ['send status=503 times=5', { on: 'send', status: 503, times: 5 }],
    ['  token   status=500  ', { on: 'token', status: 500 }],
    [
      'any rate=0.05 seed=7 reset=after-read',
      { on: 'any', rate: 0.05, seed: 7, reset: 'after-read' },
    ],
    ['send hang=after-acting times=1', { on: 'send', hang: 'after-acting', times: 1 }],
    ['send latency=250', { on: 'send', latencyMs: 250 }],
    [
      'send status=429 retry-after=2 retry-after-as=date',
      { on: 'send', status: 429, retryAfter: 2, retryAfterAs: 'date' },
    ],
    [
      'send status=302 header.Location=http://127.0.0.1:9/?a=b',
      { on: 'send', status: 302, headers: { Location: 'http://127.0.0.1:9/?a=b' } },
    ],
    [
      `send status=502 html='<h1 id="x">Bad gateway</h1>' header.Server=nginx`,
      {
        on: 'send',
        status: 502,
        bodyText: '<h1 id="x">Bad gateway</h1>',
        headers: { 'content-type': 'text/html; charset=utf-8', Server: 'nginx' },
      },
    ],
    ['send status=400 text="two words"', { on: 'send', status: 400, bodyText: 'two words' }],
    [`send status=400 body='{"code": "X"}'`, { on: 'send', status: 400, body: { code: 'X' } }],
    ['send status=402 code=NO_CREDIT', { on: 'send', status: 402, code: 'NO_CREDIT' }],
    ['send status=500 after-acting', { on: 'send', status: 500, afterActing: true }],
    ['send slow=1/50', { on: 'send', slowBody: { bytes: 1, everyMs: 50 } }],
    ['send truncate=10', { on: 'send', truncate: 10 }],
    ['send huge=1000000', { on: 'send', hugeBody: 1_000_000 }],
    ['send garbage=abc', { on: 'send', garbage: 'abc' }],
  ])('%s', (line, fault) => {
    expect(parseFault(line)).toEqual(fault);
  });

  test('garbage needs no value', () => {
    expect(parseFault('send garbage').garbage).toContain('not HTTP');
  });

  test.each([
    ['', 'expected send, token or any first'],
    ['status=503', 'expected send, token or any first'],
    ['sned status=503', 'fault on: expected one of send, token, any'],
    ['send', 'expected an effect'],
    ['send times=5', 'expected an effect'],
    ['send stauts=503', 'unknown word "stauts"'],
    ['send constructor=1', 'unknown word "constructor"'],
    ['send status=5x3', 'fault status: expected a number, got "5x3"'],
    ['send status=99', 'fault status: expected 200 to 599'],
    ['send status=503 status=504', 'fault status: given twice'],
    ['send status=503 times=0', 'fault times: expected 1 to'],
    ['send status=503 times=1.5', 'fault times: expected a whole number'],
    ['send status=503 rate=2', 'fault rate: expected a number from 0 to 1'],
    ['send status=503 seed=2', 'fault seed: needs rate'],
    ['send reset=later', 'fault reset: expected one of before-read, after-read, after-acting'],
    ['send hang', 'fault hang: expected one of before-acting, after-acting'],
    ['send hang=before-acting reset=after-read', 'reset and hang exclude each other'],
    ['send hang=before-acting slow=1/5', 'hang and slowBody exclude each other'],
    ['send slow=1/5 truncate=3', 'slowBody and truncate exclude each other'],
    ['send status=500 text=a code=b', 'bodyText and code exclude each other'],
    ['send slow=5', 'fault slow: expected bytes/milliseconds'],
    ['send latency=5 text=a', 'fault bodyText: needs status'],
    ['send latency=5 after-acting', 'fault afterActing: needs status or garbage'],
    ['send status=500 after-acting=no', 'fault after-acting: takes no value'],
    ['send status=429 retry-after-as=date', 'fault retryAfterAs: needs retryAfter'],
    ['send status=500 body={', 'fault body: expected JSON'],
    ['send status=500 text="open', 'cannot read'],
    ['send status=500 =x', 'cannot read "=x"'],
    ['send status=500 header.A_B=x', '"A_B" is no header'],
  ])('%s: %s', (line, message) => {
    expect(() => parseFault(line)).toThrow(message);
  });
});

test.each([
  [null, 'fault: expected an object'],
  [{ on: 'send', status: 500, colour: 'red' }, 'unknown field "colour"'],
  [{ on: 'send', headers: [], status: 500 }, 'fault headers: expected an object'],
  [{ on: 'send', status: 500, headers: { a: 'x\r\ny' } }, 'expected printable ASCII'],
  [{ on: 'send', slowBody: { bytes: 0, everyMs: 1 } }, 'fault slowBody bytes'],
  [{ on: 'send', times: null, status: 500 }, 'fault times'],
])('a fault object that is wrong: %j', (fault, message) => {
  expect(() => checkedFault(fault)).toThrow(message);
});

test.each<readonly [Fault, boolean]>([
  [{ on: 'send', reset: 'before-read' }, false],
  [{ on: 'send', reset: 'after-read' }, false],
  [{ on: 'send', reset: 'after-acting' }, true],
  [{ on: 'send', hang: 'before-acting' }, false],
  [{ on: 'send', hang: 'after-acting' }, true],
  [{ on: 'send', status: 500 }, false],
  [{ on: 'send', status: 500, afterActing: true }, true],
  [{ on: 'send', garbage: 'x' }, false],
  [{ on: 'send', garbage: 'x', afterActing: true }, true],
  [{ on: 'send', latencyMs: 1 }, true],
  [{ on: 'send', slowBody: { bytes: 1, everyMs: 1 } }, true],
  [{ on: 'send', truncate: 1 }, true],
  [{ on: 'send', hugeBody: 1 }, true],
])('%j acts: %s', (fault, acts) => {
  expect(actsUnder(fault)).toBe(acts);
});

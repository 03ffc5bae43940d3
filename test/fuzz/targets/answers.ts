import * as fc from 'fast-check';
import { expect } from 'vitest';
import { NoticeQueueError } from '../../../src/contracts/errors.ts';
import { decideOutcome } from '../../../src/service/outcome-table.ts';
import { AnswerMask, piecesOfSecrets } from '../../../src/service/response/mask-text.ts';
import { readAnswer } from '../../../src/service/response/read-answer.ts';
import { readIssuance } from '../../../src/service/response/read-issuance.ts';
import { parseRetryAfter } from '../../../src/service/response/token-lifetime.ts';
import { damaged, hostileText, nearly, textOf } from '../support/hostile.ts';
import { target } from '../support/target.ts';
import type { WireFacts } from '../../../src/service/http/transport.ts';

const NUMBER = '01098765432';
const SECRET = 'secret-key-of-the-fuzz-test';
const BODY = JSON.stringify({ templateCode: 'T', contacts: [{ contact: NUMBER, var1: 'Kim' }] });

/** The number as a service may repeat it. */
const echo = fc
  .tuple(fc.constantFrom('', ' ', '-', '.', '_', ' - ', '/'), hostileText)
  .map(([between, text]) => `${text.slice(0, 50)} ${NUMBER.split('').join(between)}`);

const text = fc.oneof(hostileText, echo, fc.constant(`x ${SECRET} y`));

const json = fc
  .tuple(
    nearly({
      success: true,
      code: 'OK',
      message: 'sent',
      traceId: 'abc-1',
      data: { token: 'token-value', expiresAt: '2030-01-01T00:00:00Z', expiresIn: 60 },
      error: { code: 'INVALID_TOKEN', message: 'no', errors: [{ code: 'A' }] },
    }),
    fc.constantFrom('code', 'message', 'traceId', 'error'),
    text,
  )
  .map(([value, field, put]) =>
    textOf(typeof value === 'object' && value !== null ? { ...value, [field]: put } : value),
  );

const facts: fc.Arbitrary<WireFacts> = fc.record({
  started: fc.constant(true),
  status: fc.option(fc.oneof(fc.integer({ min: 100, max: 999 }), fc.constantFrom(200, 401, 429)), {
    nil: undefined,
  }),
  headers: fc.option(
    fc.dictionary(
      fc.constantFrom('content-type', 'retry-after', 'date', 'content-encoding'),
      fc.oneof(
        text,
        fc.array(text, { maxLength: 3 }),
        fc.constantFrom('text/html', 'application/json; charset=utf-16', 'text/x; charset="'),
      ),
    ),
    { nil: undefined },
  ),
  chunks: fc
    .tuple(
      fc.oneof(
        damaged(json),
        damaged(text),
        json.map((one) => Buffer.from(one)),
      ),
      fc.nat(50),
    )
    .map(([bytes, at]) => [bytes.subarray(0, at), bytes.subarray(at)]),
  ending: fc.constantFrom('whole', 'whole', 'broken', 'oversized'),
  failure: fc.constantFrom(undefined, undefined, 'timeout', 'reset'),
  failureCode: fc.constantFrom(undefined, 'ECONNRESET'),
  tookMs: fc.constant(1),
});

/** Text of others that is kept: short, one line, and nothing of what was sent. */
function expectSafe(kept: string | undefined, most: number): void {
  if (kept === undefined) return;
  expect(Array.from(kept).length).toBeLessThanOrEqual(most);
  expect(kept).not.toMatch(/[\p{Cc}\p{Cs}\u2028\u2029]/u);
  expect(kept.replace(/[^0-9]/g, '')).not.toContain(NUMBER.slice(-8));
  expect(kept).not.toContain(SECRET);
}

function readSendAnswer([wire, mayAccept]: readonly [WireFacts, boolean]): void {
  const answer = readAnswer(
    wire,
    () => new AnswerMask([piecesOfSecrets([SECRET])], BODY),
    mayAccept ? 'trace-id' : 'all',
  );
  expectSafe(answer.code, 64);
  expectSafe(answer.message, 200);
  expectSafe(answer.traceId, 128);
  const { json: _, ...read } = answer;
  const outcome = decideOutcome({
    ...read,
    stage: wire.status === undefined ? 'sent' : 'answered',
    ...(wire.status === undefined ? {} : { status: wire.status }),
    refused: [],
    requests: 1,
    durationMs: 1,
  });
  expect(outcome.kind).toMatch(/^[a-z]+$/);
}

function readTokenAnswer(wire: WireFacts): void {
  try {
    const { value, expiresInMs = 1 } = readIssuance(wire, [SECRET], Date.now());
    expect(value).toMatch(/^[\x21-\x7e]{1,8192}$/);
    expect(Number.isFinite(expiresInMs)).toBe(true);
  } catch (error) {
    if (!(error instanceof NoticeQueueError)) throw error;
    expect(error.message).not.toContain(SECRET);
  }
}

function readWait([value, date]: readonly [string, string]): void {
  const ms = parseRetryAfter(value, date, Date.now()) ?? 0;
  expect(Number.isFinite(ms) && ms >= 0).toBe(true);
}

export const ANSWER_TARGETS = [
  target({
    name: 'answer of the service to a send request',
    inputs: fc.tuple(facts, fc.boolean()),
    law: readSendAnswer,
  }),
  target({
    name: 'answer of the service to an issuance',
    inputs: facts,
    law: readTokenAnswer,
  }),
  target({ name: 'Retry-After', inputs: fc.tuple(text, text), law: readWait }),
];

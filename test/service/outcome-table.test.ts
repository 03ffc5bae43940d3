import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Outcome, OutcomeKind } from '../../src/contracts/outcome.ts';
import type { HoldKind } from '../../src/contracts/hold.ts';
import { OUTCOME_ROWS, decideOutcome } from '../../src/service/outcome-table.ts';
import type { SendAnswer } from '../../src/service/send-call.ts';

const base = { refused: [], requests: 1, durationMs: 5 } as const;
type More = Partial<SendAnswer>;
const notSent = (more: More): SendAnswer => ({ ...base, stage: 'not-sent', body: 'none', ...more });
const sent = (more: More): SendAnswer => ({ ...base, stage: 'sent', body: 'none', ...more });
const answered = (status: number, more: More = {}): SendAnswer => ({
  ...base,
  stage: 'answered',
  status,
  body: 'json',
  ...more,
});
const refusedFor = (status: 401 | 403, ...ids: string[]) => ({
  refused: ids.map((tokenId) => ({ tokenId, status })),
});
const one = (status: 401 | 403) => refusedFor(status, 'a', 'a');
const two = (status: 401 | 403) => refusedFor(status, 'a', 'b');

const unknown = (code: string): Outcome => ({ kind: 'unknown', code });
const rejected = (code: string): Outcome => ({ kind: 'rejected', code });
const retry = (code: string, counted: boolean): Outcome => ({ kind: 'retry', code, counted });
const hold = (
  hold: HoldKind,
  code: string,
  scope: 'all' | 'row' | 'template',
  more: { rejectAfter?: number; forMs?: number } = {},
): Outcome => ({ kind: 'hold', hold, code, scope, ...more });
const refused = (code: string, rejectAfter: number): Outcome =>
  hold('credentials', code, 'template', { rejectAfter });
const ofRoute = (code: string): Outcome => hold('address', code, 'row', { rejectAfter: 4 });
const PAGE = hold('address', 'HTML_ANSWER', 'template', { rejectAfter: 4 });
const accepted = (confirmed: boolean): Outcome => ({ kind: 'accepted', confirmed });

const rule = (outcome: 'accepted' | 'retry' | 'unknown') => ({ number: 1, outcome });

const NO_TIME = { failure: 'timeout', givenUp: true } as const;
const GIVEN_UP = '401 or 403, given up before the second request';

/** Row of the table, answer, outcome. */
type Case = [string, SendAnswer, Outcome];
const CASES: Case[] = [
  ['not sent, given up', notSent({ failure: 'aborted' }), retry('ABORTED', false)],
  [
    'not sent, the certificate does not verify',
    notSent({ failure: 'certificate', failureCode: 'CERT_HAS_EXPIRED' }),
    hold('address', 'CERT_HAS_EXPIRED', 'row'),
  ],
  ['not sent', notSent({ failure: 'dns' }), hold('unreachable', 'SERVICE_UNREACHABLE', 'row')],
  ['not sent', notSent({ failure: 'timeout' }), hold('unreachable', 'SERVICE_UNREACHABLE', 'row')],
  ['not sent', notSent({ failure: 'tls' }), hold('unreachable', 'SERVICE_UNREACHABLE', 'row')],
  ['sent, no status', sent({ failure: 'reset', failureCode: 'ECONNRESET' }), unknown('ECONNRESET')],
  ['sent, no status', sent({ failure: 'aborted' }), unknown('NO_ANSWER')],
  ['2xx, a page', answered(200, { body: 'html' }), PAGE],
  [
    'an answer rule matches',
    answered(200, { rule: { number: 2, outcome: 'rejected' }, code: 'NO' }),
    rejected('NO'),
  ],
  ['an answer rule matches', answered(200, { rule: rule('retry') }), retry('ANSWER_RULE_1', true)],
  ['an answer rule matches', answered(404, { rule: rule('accepted') }), accepted(true)],
  ['an answer rule matches', answered(200, { rule: rule('unknown') }), unknown('ANSWER_RULE_1')],
  [
    'an answer rule matches',
    answered(200, { rule: { number: 1, outcome: 'hold', hold: 'credit' }, code: 'QUOTA' }),
    hold('credit', 'QUOTA', 'all'),
  ],
  ['2xx, success: false', answered(200, { success: false }), rejected('SERVICE_REFUSED')],
  [
    '2xx, success: false',
    answered(200, { success: false, code: 'NO_TEMPLATE' }),
    rejected('NO_TEMPLATE'),
  ],
  ['2xx, no body, or JSON without success: false', answered(200), accepted(true)],
  [
    '2xx, no body, or JSON without success: false',
    answered(200, { success: true }),
    accepted(true),
  ],
  ['2xx, no body, or JSON without success: false', answered(204, { body: 'none' }), accepted(true)],
  ['2xx, unreadable', answered(200, { body: 'text' }), accepted(false)],
  ['2xx, unreadable', answered(202, { body: 'broken', failure: 'reset' }), accepted(false)],
  ['2xx, unreadable', answered(200, { body: 'oversized' }), accepted(false)],
  ['3xx', answered(302, { body: 'html' }), ofRoute('HTTP_302')],
  ['3xx', answered(308), ofRoute('HTTP_308')],
  [
    '503 with Retry-After',
    answered(503, { retryAfterMs: 2_000, code: 'BUSY' }),
    hold('failing', 'BUSY', 'row', { forMs: 2_000 }),
  ],
  ['5xx', answered(500), unknown('HTTP_500')],
  ['5xx', answered(502, { body: 'html' }), unknown('HTTP_502')],
  ['5xx', answered(503, { code: 'BUSY' }), unknown('BUSY')],
  ['1xx, 600 and above', answered(101), unknown('HTTP_101')],
  ['1xx, 600 and above', answered(600), unknown('HTTP_600')],
  ['408, 425', answered(408), retry('HTTP_408', true)],
  ['408, 425', answered(425), retry('HTTP_425', true)],
  ['429', answered(429), hold('throttled', 'HTTP_429', 'row')],
  [
    '429',
    answered(429, { retryAfterMs: 3_000, code: 'SLOW_DOWN' }),
    hold('throttled', 'SLOW_DOWN', 'row', { forMs: 3_000 }),
  ],
  ['402', answered(402, { code: 'NO_CREDIT' }), hold('credit', 'NO_CREDIT', 'all')],
  ...[405, 407, 415, 421, 426, 431, 451].map((status): Case => [
    '405, 407, 415, 421, 426, 431, 451',
    answered(status),
    ofRoute(`HTTP_${status}`),
  ]),
  ['413', answered(413, { body: 'html' }), rejected('HTTP_413')],
  [GIVEN_UP, answered(401, { ...refusedFor(401, 'a'), ...NO_TIME }), retry('HTTP_401', false)],
  [GIVEN_UP, answered(401, { ...one(401), body: 'html', ...NO_TIME }), retry('HTTP_401', false)],
  ['401 or 403, a page', answered(401, { ...two(401), body: 'html' }), PAGE],
  ['401 or 403, a page', answered(403, { ...one(403), body: 'html' }), PAGE],
  ...['ACCESS_KEY_NOT_APPROVED', 'IP_NOT_ALLOWED'].map((code): Case => [
    '401 or 403, a code about the app',
    answered(403, { ...two(403), code }),
    hold('credentials', code, 'all'),
  ]),
  ...['INVALID_ACCESS_KEY', 'TOKEN_EXPIRED', 'INVALID_BEARER_FORMAT'].map((code): Case => [
    '401 or 403, a code about the token',
    answered(401, { ...two(401), code }),
    hold('credentials', code, 'row'),
  ]),
  ...[two(403), one(401)].map((given): Case => [
    '401 or 403, another code',
    answered(given.refused[0]?.status ?? 0, { ...given, code: 'SENDER_NOT_YOURS' }),
    refused('SENDER_NOT_YOURS', 1),
  ]),
  ['401 or 403, no code', answered(401, two(401)), refused('HTTP_401', 4)],
  ['401 or 403, no code', answered(403, { ...one(403), body: 'none' }), refused('HTTP_403', 4)],
  ['other 4xx, a page', answered(404, { body: 'html' }), PAGE],
  ['other 4xx', answered(404, { code: 'NO_TEMPLATE' }), rejected('NO_TEMPLATE')],
  ['other 4xx', answered(400, { body: 'none' }), rejected('HTTP_400')],
  ['other 4xx', answered(422, { body: 'broken' }), rejected('HTTP_422')],
  ['other 4xx', answered(418, { body: 'text' }), rejected('HTTP_418')],
];

const rowOf = (answer: SendAnswer): string | undefined =>
  OUTCOME_ROWS.find(({ when }) => when(answer))?.name;

describe('the outcome table', () => {
  it.each<Case>(CASES)('%s: %j', (name, answer, outcome) => {
    expect(rowOf(answer)).toBe(name);
    expect(decideOutcome(answer)).toStrictEqual(outcome);
  });

  it('has a case for every row, and no row twice', () => {
    const names = OUTCOME_ROWS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(new Set(CASES.map(([name]) => name))).toStrictEqual(new Set(names));
  });
});

const option = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const STATUSES = [
  101, 200, 204, 302, 400, 401, 402, 403, 404, 408, 413, 422, 425, 429, 500, 503, 600,
];
const anyStatus = fc.oneof(fc.constantFrom(...STATUSES), fc.integer({ min: 100, max: 999 }));
const anyAnswer: fc.Arbitrary<SendAnswer> = fc
  .record({
    stage: fc.constantFrom('not-sent', 'sent', 'answered'),
    status: anyStatus,
    code: option(fc.constantFrom('INVALID_ACCESS_KEY', 'IP_NOT_ALLOWED', 'OTHER')),
    body: fc.constantFrom('none', 'json', 'html', 'text', 'broken', 'oversized'),
    success: option(fc.boolean()),
    retryAfterMs: option(fc.nat()),
    failure: option(fc.constantFrom('dns', 'certificate', 'aborted', 'timeout', 'reset')),
    refused: fc.array(
      fc.record({ tokenId: fc.constantFrom('a', 'b'), status: fc.constantFrom(401, 403) }),
      { maxLength: 2 },
    ),
  })
  .map(({ status, ...facts }) => {
    const seen = facts.stage === 'answered' ? { status } : {};
    const given = Object.entries(facts).filter(([, value]) => value !== undefined);
    return { requests: 1, durationMs: 1, ...Object.fromEntries(given), ...seen } as SendAnswer;
  });

/** Kinds of outcome that the facts allow, whatever the table says. */
function allowedKinds({ stage, status, body }: SendAnswer): readonly OutcomeKind[] {
  if (stage === 'not-sent') return ['retry', 'hold'];
  if (stage === 'sent' || status === undefined) return ['unknown'];
  if (status === 503) return ['unknown', 'hold'];
  if (status >= 500 || status < 200) return ['unknown'];
  if (status >= 400) {
    return [401, 403, 408, 425].includes(status)
      ? ['retry', 'hold', 'rejected']
      : ['hold', 'rejected'];
  }
  if (status >= 300) return ['hold'];
  return body === 'html' ? ['hold'] : ['accepted', 'rejected'];
}

it('every answer has one outcome, and none that its facts forbid', () => {
  fc.assert(
    fc.property(anyAnswer, (answer) => {
      expect(allowedKinds(answer)).toContain(decideOutcome(answer).kind);
    }),
    { numRuns: 3_000 },
  );
});

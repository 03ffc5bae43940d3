import { describe, expect, it, test } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { parseUnknownRules } from '../../src/config/unknown-rules.ts';
import { issuesOf } from './support.ts';

const HOUR = 3_600_000;

describe('rules for unknown outcomes', () => {
  test.each([
    ['', []],
    [' ; ', []],
    ['older than 24 h: accepted', [{ olderThanMs: 24 * HOUR, as: 'accepted' }]],
    ['older than 90s: discard', [{ olderThanMs: 90_000, as: 'discard' }]],
    ['code ECONNRESET: resend once', [{ code: 'ECONNRESET', as: 'resend' }]],
    ['code a:b: accepted', [{ code: 'a:b', as: 'accepted' }]],
    [
      '  code HTTP_500  and template LOGIN and older than 2 d :  discard ;',
      [{ code: 'HTTP_500', template: 'LOGIN', olderThanMs: 48 * HOUR, as: 'discard' }],
    ],
    [
      'older than 24 h: accepted; code ECONNRESET: resend once',
      [
        { olderThanMs: 24 * HOUR, as: 'accepted' },
        { code: 'ECONNRESET', as: 'resend' },
      ],
    ],
    // Sent again once; then accepted, if it is unknown again.
    [
      'code A: resend once; code A: accepted',
      [
        { code: 'A', as: 'resend' },
        { code: 'A', as: 'accepted' },
      ],
    ],
    [
      'older than 2 h: accepted; older than 1 h: discard',
      [
        { olderThanMs: 2 * HOUR, as: 'accepted' },
        { olderThanMs: HOUR, as: 'discard' },
      ],
    ],
    [
      'code A: accepted; template T: discard',
      [
        { code: 'A', as: 'accepted' },
        { template: 'T', as: 'discard' },
      ],
    ],
  ] as const)('%j', (text, rules) => {
    const parsed = parseUnknownRules(text);
    expect(parsed).toMatchObject({ rules });
    expect('rules' in parsed && parsed.rules).toHaveLength(rules.length);
  });

  const DECISION = 'expected the decision accepted, discard or resend once, got';
  const CONDITION =
    'expected a condition such as older than 24 h, code ECONNRESET or template CODE, got';
  const FORM = 'expected conditions, a colon and a decision, such as "older than 24 h: accepted"';
  test.each([
    ['accepted', `rule 1 ("accepted"): ${FORM}`],
    [': accepted', `rule 1 (": accepted"): ${FORM}`],
    ['code A: resend', `rule 1 ("code A: resend"): ${DECISION} "resend"`],
    ['code A: accepted; code B:', `rule 2 ("code B:"): ${DECISION} ""`],
    ['code A: toString', `rule 1 ("code A: toString"): ${DECISION} "toString"`],
    ['code: accepted', `rule 1 ("code: accepted"): ${CONDITION} "code"`],
    ['code A B: accepted', `rule 1 ("code A B: accepted"): ${CONDITION} "code A B"`],
    [
      'older than 0 h: discard',
      `rule 1 ("older than 0 h: discard"): ${CONDITION} "older than 0 h"`,
    ],
    [
      'older than 1 y: discard',
      `rule 1 ("older than 1 y: discard"): ${CONDITION} "older than 1 y"`,
    ],
    [
      'code A and code B: discard',
      'rule 1 ("code A and code B: discard"): has two conditions of one kind',
    ],
    [
      'code A: accepted; code A: discard',
      'rule 2 ("code A: discard") contradicts rule 1 ("code A: accepted"), which decides everything that it matches',
    ],
    [
      'code A: accepted; code A: resend once',
      'rule 2 ("code A: resend once") contradicts rule 1 ("code A: accepted"), which decides everything that it matches',
    ],
    [
      'older than 1 h: accepted; code A and older than 2 h: discard',
      'rule 2 ("code A and older than 2 h: discard") contradicts rule 1 ("older than 1 h: accepted"), which decides everything that it matches',
    ],
    [
      'template T: resend once; template T and code A: resend once',
      'rule 2 ("template T and code A: resend once") repeats rule 1 ("template T: resend once"), which decides everything that it matches',
    ],
    ['code A: discard;'.repeat(51), 'expected at most 50 rules'],
  ])('%j is refused', (text, problem) => {
    expect(parseUnknownRules(text)).toEqual({ problem });
  });

  it('are refused at the start with the exact problem', () => {
    const text = 'code A: accepted; code A: discard';
    expect(issuesOf({ UNKNOWN_RULES: text })).toEqual([
      {
        field: 'UNKNOWN_RULES',
        problem:
          'expected rules for unknown outcomes (docs/notices.md), but rule 2 ("code A: discard") contradicts rule 1 ("code A: accepted"), which decides everything that it matches',
      },
    ]);
    const config = { UNKNOWN_RULES: 'code A: accepted' };
    expect(loadConfig(config, { service: false }).worker.unknownRules).toEqual([
      { text: 'code A: accepted', code: 'A', as: 'accepted' },
    ]);
    expect(loadConfig({}, { service: false }).worker.unknownRules).toEqual([]);
  });
});

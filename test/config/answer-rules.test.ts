import { describe, expect, it } from 'vitest';
import { EXAMPLE_RULES } from '../../scripts/answers-page.ts';
import { loadConfig, describeConfig } from '../../src/config/config.ts';
import { issuesOf, REQUIRED } from './support.ts';
import { temporaryFile } from '../support/temporary.ts';

const problemOf = (content: string): string | undefined =>
  issuesOf({ ANSWER_RULES_FILE: temporaryFile(content) }).find(
    ({ field }) => field === 'ANSWER_RULES_FILE',
  )?.problem;

const rules = (...list: readonly object[]) => JSON.stringify({ rules: list });
const RETRY = { status: 503, outcome: 'retry' };

describe('ANSWER_RULES_FILE', () => {
  it('is read as rules', () => {
    const file = temporaryFile(JSON.stringify(EXAMPLE_RULES));
    const { service } = loadConfig({ ...REQUIRED, ANSWER_RULES_FILE: file });
    expect(service?.answerRules).toEqual(EXAMPLE_RULES);
  });

  it('is shown rule by rule', () => {
    const file = temporaryFile(JSON.stringify(EXAMPLE_RULES));
    const { rows, answerRules } = describeConfig({ ...REQUIRED, ANSWER_RULES_FILE: file });
    expect(rows.find(({ name }) => name === 'ANSWER_RULES_FILE')?.value).toBe(file);
    expect(answerRules).toEqual([
      'answer rule 1: status 200, code TEMPLATE_NOT_APPROVED or UNKNOWN_SENDER: rejected',
      'answer rule 2: status 2xx, data.status is BUSY: retry',
      'answer rule 3: code QUOTA_EXCEEDED: hold credit',
    ]);
    expect(describeConfig(REQUIRED).answerRules).toEqual([]);
  });

  it.each([
    ['text', 'rules: no', /is invalid: is not JSON/],
    ['no rule in it', '{"rules":[]}', /rules: expected at least one rule/],
    ['an unknown field', '{"rules":[],"rulez":[]}', /rulez/],
    [
      'an outcome that does not exist',
      rules({ code: 'A', outcome: 'accepted' }, { code: 'B', outcome: 'okay' }),
      /rules\.1\.outcome: expected one of accepted, rejected, retry, unknown, hold/,
    ],
    [
      'no condition',
      rules({ outcome: 'rejected' }),
      /0\.status: expected at least one of status, code and/,
    ],
    [
      'a hold without its name',
      rules({ status: 503, outcome: 'hold' }),
      /0\.hold: expected with the outcome/,
    ],
    ['a hold with another outcome', rules({ ...RETRY, hold: 'credit' }), /rules\.0\.hold/],
    [
      'a value without a path',
      rules({ ...RETRY, value: 1 }),
      /rules\.0\.path: expected with value/,
    ],
    [
      'a path that is none',
      rules({ path: '$..x[', outcome: 'retry' }, { path: 'a..b', outcome: 'retry' }),
      /rules\.1\.path: expected names and indexes separated by dots/,
    ],
    [
      'a status out of range',
      rules({ ...RETRY, status: 99 }),
      /0\.status: expected a status from 200 to 599/,
    ],
  ])('with %s is refused, with the place and the reason', (_, content, problem) => {
    expect(problemOf(content)).toMatch(problem);
  });

  it('that cannot be read is refused', () => {
    const [issue] = issuesOf({ ANSWER_RULES_FILE: '/nowhere/rules.json' });
    expect(issue?.problem).toMatch(/cannot read \/nowhere\/rules\.json \(ENOENT\)/);
  });
});

import type { AnswerRule, AnswerRules } from '../../contracts/answer-rules.ts';
import { own, type ReadAnswer } from './read-answer.ts';

/** The rule that decides about an answer. */
export interface MatchedRule extends Pick<AnswerRule, 'outcome' | 'hold'> {
  /** Its number in the file, from 1. */
  readonly number: number;
}

/** An answer as rules see it. */
export type RuledAnswer = Pick<ReadAnswer, 'code' | 'json'> & { readonly status: number };

export function codesOf({ rules }: AnswerRules): ReadonlySet<string> {
  return new Set(rules.flatMap(({ code }) => (code === undefined ? [] : listOf(code))));
}

/** The first rule that matches an answer; undefined where the built-in table decides. */
export function matchingRule({ rules }: AnswerRules, answer: RuledAnswer): MatchedRule | undefined {
  const index = rules.findIndex((rule) => matches(rule, answer));
  const rule = rules[index];
  if (rule === undefined) return undefined;
  const { outcome, hold } = rule;
  return { number: index + 1, outcome, ...(hold === undefined ? {} : { hold }) };
}

function matches({ status, code, path, value }: AnswerRule, answer: RuledAnswer): boolean {
  if (status !== undefined && !listOf(status).some((one) => hasStatus(answer.status, one))) {
    return false;
  }
  if (code !== undefined && !listOf(code).some((one) => one === answer.code)) return false;
  if (path === undefined) return true;
  const found = path.split('.').reduce((json: unknown, name) => own(json, name), answer.json);
  return value === undefined ? found !== undefined : listOf(value).some((one) => one === found);
}

const listOf = <Value>(value: Value | readonly Value[]): readonly Value[] =>
  Array.isArray(value) ? (value as readonly Value[]) : [value as Value];

const hasStatus = (status: number, expected: number | string): boolean =>
  typeof expected === 'number'
    ? status === expected
    : Math.floor(status / 100) === Number(expected[0]);

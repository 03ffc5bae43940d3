import type { AnswerRules, ContactOutcome, RuleConditions } from '../../contracts/answer-rules.ts';
import type { AnswerMask } from './mask-text.ts';
import { codeIn, messageIn, own, type BodyKind, type ReadAnswer } from './read-answer.ts';

type ResultRules = NonNullable<AnswerRules['results']>;

/** The rule that decides about an answer. */
export interface MatchedRule extends Pick<AnswerRules['rules'][number], 'outcome' | 'hold'> {
  /** Its number in the file, from 1. */
  readonly number: number;
}

/** What an answer tells about one contact. */
export interface ContactResult {
  readonly outcome: ContactOutcome;
  /** The service's own code, or which rule decided. */
  readonly code: string;
  /** Masked, at most 200 characters; empty where there is none. */
  readonly message: string;
}

/** An answer as rules see it. */
export type RuledAnswer = Pick<ReadAnswer, 'body' | 'code' | 'json'> & { readonly status: number };

/** What the rules tell about an answer; empty where the built-in table decides. */
export interface Ruled {
  readonly rule?: MatchedRule;
  readonly results?: readonly ContactResult[];
  /** It should have results per contact, and its body could not be read as a whole. */
  readonly resultsUnread?: true;
}

/** The codes that rules compare with. */
export function codesOf(rules: AnswerRules): ReadonlySet<string> {
  const all = [...rules.rules, ...(rules.results?.rules ?? [])];
  return new Set(all.flatMap(({ code }) => (code === undefined ? [] : listOf(code))));
}

/**
 * Applies the rules to an answer: the first rule that matches decides about the whole answer; if none does,
 * its results per contact, if it has any. Where they cannot be read, nothing is known about any contact.
 *
 * @param numbers of the contacts of the request, in order; called only for an answer with results
 * @param mask makes code and message safe to keep
 */
export function applyRules(
  rules: AnswerRules | undefined,
  answer: RuledAnswer,
  numbers: () => readonly string[],
  mask: AnswerMask,
): Ruled {
  if (rules === undefined) return {};
  const index = rules.rules.findIndex((rule) => matches(rule, answer));
  const rule = rules.rules[index];
  if (rule !== undefined) {
    const { outcome, hold } = rule;
    return { rule: { number: index + 1, outcome, ...(hold === undefined ? {} : { hold }) } };
  }
  const { results: ofContacts } = rules;
  if (ofContacts === undefined || !matches(withStatus(ofContacts), answer)) return {};
  if (UNREAD.has(answer.body)) return { resultsUnread: true };
  const items = at(answer.json, ofContacts.path);
  if (!Array.isArray(items)) return {};
  const sent = numbers();
  // What was sent is no list of contacts: nothing is known of any.
  if (sent.length === 0) return { resultsUnread: true };
  return { results: resultsOf(ofContacts, items as readonly unknown[], sent, mask) };
}

/** Bodies that may have been a list of results: text is also JSON of which the end is missing. */
const UNREAD: ReadonlySet<BodyKind> = new Set(['oversized', 'broken', 'text']);

const withStatus = ({ status }: ResultRules): RuleConditions => ({ status });

function resultsOf(
  rules: ResultRules,
  items: readonly unknown[],
  numbers: readonly string[],
  mask: AnswerMask,
): ContactResult[] {
  const byNumber = new Map<string, ContactResult[]>();
  const numberOf = numberReader(numbers);
  for (const item of items) {
    const number = numberOf(at(item, rules.contact));
    if (number === '') continue;
    const result = resultOf(rules, item, mask);
    const others = byNumber.get(number);
    if (others === undefined) byNumber.set(number, [result]);
    else others.push(result);
  }
  const unlisted = { outcome: rules.unlisted, code: 'NOT_IN_RESULTS', message: '' };
  return numbers.map((number) => {
    const found = byNumber.get(digitsOf(number));
    // A number that occurs several times has its results in order; the last one applies to the rest.
    return (found !== undefined && found.length > 1 ? found.shift() : found?.[0]) ?? unlisted;
  });
}

function resultOf({ rules }: ResultRules, item: unknown, mask: AnswerMask): ContactResult {
  const code = codeIn(item, mask);
  const index = rules.findIndex((rule) => matches(rule, { code, json: item, status: 0 }));
  const outcome = rules[index]?.outcome ?? 'unknown';
  return {
    outcome,
    code: code ?? (index < 0 ? 'NO_RESULT_RULE' : `RESULT_RULE_${index + 1}`),
    message: (outcome === 'accepted' ? undefined : messageIn(item, mask)) ?? '',
  };
}

function matches(
  { status, code, path, value }: RuleConditions,
  answer: { readonly status: number; readonly code?: string | undefined; readonly json?: unknown },
): boolean {
  if (status !== undefined && !listOf(status).some((one) => hasStatus(answer.status, one))) {
    return false;
  }
  if (code !== undefined && !listOf(code).some((one) => one === answer.code)) return false;
  if (path === undefined) return true;
  const found = at(answer.json, path);
  return value === undefined ? found !== undefined : listOf(value).some((one) => one === found);
}

const listOf = <Value>(value: Value | readonly Value[]): readonly Value[] =>
  Array.isArray(value) ? (value as readonly Value[]) : [value as Value];

const hasStatus = (status: number, expected: number | string): boolean =>
  typeof expected === 'number'
    ? status === expected
    : Math.floor(status / 100) === Number(expected[0]);

/** The value at a path; undefined where there is none. */
function at(json: unknown, path: string): unknown {
  return path.split('.').reduce((value: unknown, name) => own(value, name), json);
}

/**
 * Reads the number of a result. Services write it with separators, or as a JSON number, which has no zeros in front: it
 * is then the number that was sent which has the same digits without them, if there is one only.
 */
function numberReader(sent: readonly string[]): (value: unknown) => string {
  const digits = new Set(sent.map(digitsOf));
  const withoutZeros = new Map<string, string | undefined>();
  for (const one of digits) {
    const short = one.replace(/^0+/, '');
    withoutZeros.set(short, withoutZeros.has(short) ? undefined : one);
  }
  return (value) => {
    const read = digitsOf(value);
    if (typeof value !== 'number' || digits.has(read)) return read;
    return withoutZeros.get(read) ?? read;
  };
}

const digitsOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value).replace(/\D/g, '') : '';

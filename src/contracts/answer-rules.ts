import { z } from 'zod';

/** A JSON scalar that a rule compares with. */
const scalar = z.union([z.string().max(200), z.number(), z.boolean(), z.null()], {
  error: 'expected a string, a number, true, false or null',
});

const path = z
  .string('expected a path such as "data.results"')
  .max(200)
  .regex(
    /^[^.\s]+(?:\.[^.\s]+)*$/,
    'expected names and indexes separated by dots, such as "data.results.0.code"',
  );

const oneOrMore = <Schema extends z.ZodType>(schema: Schema) =>
  z.union([schema, z.array(schema).min(1).max(100)]);

const STATUSES = 'expected a status from 200 to 599, or one of 2xx, 3xx, 4xx, 5xx';
const status = z.union(
  [
    z.int(STATUSES).min(200, STATUSES).max(599, STATUSES),
    z.enum(['2xx', '3xx', '4xx', '5xx'], STATUSES),
  ],
  STATUSES,
);

const RULE_HOLDS = ['credentials', 'credit', 'throttled', 'address'] as const;

const rule = z
  .strictObject({
    status: oneOrMore(status).exactOptional(),
    /** The code of the service, in any of the places where the program looks for one. */
    code: oneOrMore(z.string().min(1).max(100)).exactOptional(),
    /** A place in the JSON of the body; without `value` it must exist. */
    path: path.exactOptional(),
    value: oneOrMore(scalar).exactOptional(),
    outcome: z.enum(
      ['accepted', 'rejected', 'retry', 'unknown', 'hold'],
      'expected one of accepted, rejected, retry, unknown, hold',
    ),
    hold: z.enum(RULE_HOLDS, `expected one of ${RULE_HOLDS.join(', ')}`).exactOptional(),
  })
  .superRefine(({ status: of, code, path: at, value, outcome, hold }, context) => {
    const problem = (field: string, message: string) =>
      context.addIssue({ code: 'custom', path: [field], message });
    if (of === undefined && code === undefined && at === undefined) {
      problem('status', 'expected at least one of status, code and path');
    }
    if (value !== undefined && at === undefined) problem('path', 'expected with value');
    if ((outcome === 'hold') !== (hold !== undefined)) {
      problem('hold', 'expected with the outcome hold, and with no other');
    }
  });

/** Schema of the file that ANSWER_RULES_FILE names. */
export const answerRulesSchema = z.strictObject({
  rules: z.array(rule).min(1, 'expected at least one rule').max(100),
});

/** Rules that decide about answers before the built-in table does (ANSWER_RULES_FILE, docs/answers.md). */
export type AnswerRules = z.output<typeof answerRulesSchema>;

/** One of them; everything that it names must match. */
export type AnswerRule = AnswerRules['rules'][number];

/** The rules in words, one line each. */
export function describeAnswerRules({ rules }: AnswerRules): string[] {
  return rules.map((one, index) => {
    const outcome = one.hold === undefined ? one.outcome : `${one.outcome} ${one.hold}`;
    return `answer rule ${index + 1}: ${conditionText(one)}: ${outcome}`;
  });
}

function conditionText({ status: of, code, path: at, value }: AnswerRule): string {
  const parts = [
    ...(of === undefined ? [] : [`status ${list(of)}`]),
    ...(code === undefined ? [] : [`code ${list(code)}`]),
    ...(at === undefined ? [] : [value === undefined ? `has ${at}` : `${at} is ${list(value)}`]),
  ];
  return parts.join(', ');
}

const list = (value: unknown): string =>
  Array.isArray(value) ? value.map(String).join(' or ') : String(value);

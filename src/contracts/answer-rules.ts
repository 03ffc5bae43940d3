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

/** What a rule compares; everything that it names must match. */
const conditions = {
  /** The code of the service, in any of the places where the program looks for one. */
  code: oneOrMore(z.string().min(1).max(100)).exactOptional(),
  /** A place in the JSON of the body; without `value` it must exist. */
  path: path.exactOptional(),
  value: oneOrMore(scalar).exactOptional(),
};

/** Holds that a rule can place. */
const RULE_HOLDS = ['credentials', 'credit', 'throttled', 'address'] as const;

const rule = z
  .strictObject({
    status: oneOrMore(status).exactOptional(),
    ...conditions,
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

/** Outcomes of one contact: a hold is never the matter of one. */
const contactOutcome = z.enum(
  ['accepted', 'rejected', 'retry', 'unknown'],
  'expected one of accepted, rejected, retry, unknown',
);

const results = z.strictObject({
  /** Status of the answers that have results. */
  status: oneOrMore(status).default('2xx'),
  /** The list of results in the JSON of the body. */
  path,
  /** Where a result has the phone number of its contact. */
  contact: path,
  /** The first matching rule decides about a contact; if none matches it is unknown. */
  rules: z
    .array(
      z
        .strictObject({ ...conditions, outcome: contactOutcome })
        .refine(({ path: at, value }) => value === undefined || at !== undefined, {
          path: ['path'],
          error: 'expected with value',
        }),
    )
    .min(1)
    .max(100),
  /** The outcome of contacts that the list does not contain. */
  unlisted: contactOutcome,
});

/** Schema of the file that ANSWER_RULES_FILE names. */
export const answerRulesSchema = z
  .strictObject({ rules: z.array(rule).max(100).default([]), results: results.exactOptional() })
  .refine(({ rules, results: perContact }) => rules.length > 0 || perContact !== undefined, {
    path: ['rules'],
    error: 'expected at least one rule, or results',
  });

/** Rules that decide about answers before the built-in table does (ANSWER_RULES_FILE, docs/answers.md). */
export type AnswerRules = z.output<typeof answerRulesSchema>;

/** What a rule compares; everything that it names must match. */
export type RuleConditions = Partial<
  Pick<AnswerRules['rules'][number], 'status' | 'code' | 'path' | 'value'>
>;

/** Outcome of one contact: a hold is never the matter of one. */
export type ContactOutcome = z.output<typeof contactOutcome>;

/** The rules in words, one line each. */
export function describeAnswerRules({ rules, results: perContact }: AnswerRules): string[] {
  return [
    ...rules.map(
      (one, index) =>
        `answer rule ${index + 1}: ${conditionText(one)}: ${one.outcome}${one.hold === undefined ? '' : ` ${one.hold}`}`,
    ),
    ...(perContact === undefined
      ? []
      : [
          `results per contact: status ${list(perContact.status)}, at ${perContact.path}, number at ${perContact.contact}, unlisted: ${perContact.unlisted}`,
          ...perContact.rules.map(
            (one, index) => `result rule ${index + 1}: ${conditionText(one)}: ${one.outcome}`,
          ),
        ]),
  ];
}

function conditionText(one: RuleConditions): string {
  const { status: of, code, path: at, value } = one;
  const parts = [
    ...(of === undefined ? [] : [`status ${list(of)}`]),
    ...(code === undefined ? [] : [`code ${list(code)}`]),
    ...(at === undefined ? [] : [value === undefined ? `has ${at}` : `${at} is ${list(value)}`]),
  ];
  return parts.length === 0 ? 'any other' : parts.join(', ');
}

const list = (value: unknown): string =>
  Array.isArray(value) ? value.map(String).join(' or ') : String(value);

import type { z } from 'zod';
import type { answerRulesSchema } from '../src/contracts/answer-rules.ts';
import type { Outcome } from '../src/contracts/outcome.ts';
import { OUTCOME_ROWS, type OutcomeRow } from '../src/service/outcome-table.ts';
import type { SendAnswer } from '../src/service/send-call.ts';

/** An answer in which each fact is recognized in the outcome that is made of it. */
const SAMPLE: SendAnswer = {
  stage: 'answered',
  status: 200,
  body: 'json',
  code: 'THE_CODE',
  failureCode: 'THE_FAILURE',
  refused: [],
  requests: 1,
  durationMs: 0,
};

/** The example of the page; a test reads it as a program does. */
export const EXAMPLE_RULES = {
  rules: [
    { status: 200, code: ['TEMPLATE_NOT_APPROVED', 'UNKNOWN_SENDER'], outcome: 'rejected' },
    { status: '2xx', path: 'data.status', value: 'BUSY', outcome: 'retry' },
    { code: 'QUOTA_EXCEEDED', outcome: 'hold', hold: 'credit' },
  ],
} as const satisfies z.input<typeof answerRulesSchema>;

/** Text of docs/answers.md, made from the outcome table. */
export function answersPage(generatedBy: string): string {
  const rows = OUTCOME_ROWS.map((row) => `| ${row.name} | ${outcomeText(row)} |`);
  return `<!-- ${generatedBy} -->
<!-- prettier-ignore-start -->

# Answers of the service

What becomes of an answer to a send request. The documents of the service do not show the body of an
answer, so the built-in table accepts any JSON with a success status. If your service reports errors in
another way, describe it in a file of rules.

## The built-in table

The first matching row decides. A code is looked for in \`code\`, \`errorCode\` and \`error_code\` of the
body, of its \`error\`, of its \`data\` and of the first of its \`errors\`; then \`error\` itself is taken, if
it is text. Without one, the code is the status, such as
\`HTTP_404\`; that of a 2xx with \`success: false\` is \`SERVICE_REFUSED\`. [promises.md](promises.md#what-becomes-of-a-notice) describes the outcomes.

| answer | outcome |
|---|---|
${rows.join('\n')}

## Rules of your own

\`ANSWER_RULES_FILE\` is the path of a JSON file, which is read when a worker starts. An invalid file stops
the start with the place and the reason of each problem. \`notices config\` shows the rules.

\`\`\`json
${JSON.stringify(EXAMPLE_RULES, null, 2)}
\`\`\`

**rules**: the first rule that matches decides about the whole answer. If none does, the
built-in table decides. Everything that a rule names must match:

| field | meaning |
|---|---|
| \`status\` | a status, or one of \`2xx\`, \`3xx\`, \`4xx\`, \`5xx\`; or a list of these |
| \`code\` | the code of the service, or a list of codes |
| \`path\` | a place in the JSON of the body, such as \`data.results.0.code\`; without \`value\` it must exist |
| \`value\` | the string, number, true, false or null at that place, or a list of these; \`0\` and \`"0"\` differ |
| \`outcome\` | \`accepted\`, \`rejected\`, \`retry\` (nothing was accepted: sent again), \`unknown\` or \`hold\` |
| \`hold\` | with \`hold\`: \`credentials\`, \`credit\`, \`throttled\` or \`address\` |

A failure without a code of the service is recorded as \`ANSWER_RULE_\` and the number of the rule. Rules apply
only to answers: a request without an answer is always unknown or not sent. After 401 or 403 the token is
renewed and the request repeated first. A refusal that is not repeated, because another token did not end it before, none
could be had, is decided by the table and by what other notices met, not by a rule.

<!-- prettier-ignore-end -->
`;
}

function outcomeText({ name, outcome }: OutcomeRow): string {
  if (name === 'an answer rule matches') return 'that of the rule';
  return describe(outcome(SAMPLE));
}

function describe(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'accepted':
      return outcome.confirmed ? 'accepted' : 'accepted, not confirmed';
    case 'hold':
      return `hold \`${outcome.hold}\`${codeText(outcome.code)}`;
    case 'retry':
      return `retry, ${outcome.counted ? 'counted' : 'not counted'}${codeText(outcome.code)}`;
    case 'rejected':
    case 'unknown':
      return `${outcome.kind}${codeText(outcome.code)}`;
    case 'expired':
    case 'suppressed':
      return outcome.kind;
  }
}

function codeText(code: string): string {
  if (code === SAMPLE.code) return '';
  return code === SAMPLE.failureCode ? '' : `, code \`${code}\``;
}

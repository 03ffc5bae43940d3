import type { Outcome } from '../contracts/outcome.ts';
import type { ContactResult } from './response/answer-rules.ts';
import type { SendAnswer } from './response/send-answer.ts';

/**
 * The verdict of the shared token on an attempt in which two different tokens were refused: `again` if the
 * second one became invalid meanwhile or works for other notices, `refused` if it never worked.
 */
export type SecondRefusal = 'again' | 'refused';

/** A row of the table. */
export interface OutcomeRow {
  readonly name: string;
  readonly when: (answer: SendAnswer, judgement: SecondRefusal | undefined) => boolean;
  readonly outcome: (answer: SendAnswer) => Outcome;
}

/** Codes about the key pair, the app or the caller, not about the notice (service-api, Errors). */
const CREDENTIAL_CODES = new Set([
  'INVALID_ACCESS_KEY',
  'ACCESS_KEY_NOT_APPROVED',
  'IP_NOT_ALLOWED',
]);

const within = (answer: SendAnswer, from: number, to: number): boolean =>
  answer.status !== undefined && answer.status >= from && answer.status <= to;
const isRefusal = ({ status }: SendAnswer): boolean => status === 401 || status === 403;
const isHtml = ({ body }: SendAnswer): boolean => body === 'html';
const oneTokenOnly = ({ refused }: SendAnswer): boolean =>
  refused.every(({ tokenId }) => tokenId === refused[0]?.tokenId);

/** The service's own code, else the status. */
const codeOf = ({ code, status }: SendAnswer): string => code ?? `HTTP_${status ?? 0}`;

const retry = (code: string, counted: boolean): Outcome => ({ kind: 'retry', code, counted });
const hold = (kind: 'credentials' | 'credit' | 'address', code: string): Outcome => ({
  kind: 'hold',
  hold: kind,
  code,
});
const holdAddress = (answer: SendAnswer): Outcome => hold('address', codeOf(answer));
const holdCredentials = (answer: SendAnswer): Outcome => hold('credentials', codeOf(answer));
const reject = (answer: SendAnswer): Outcome => ({ kind: 'rejected', code: codeOf(answer) });
const unknown = (code: string): Outcome => ({ kind: 'unknown', code });
const accept = (confirmed: boolean): Outcome => ({ kind: 'accepted', confirmed });

function outcomeOfRule(answer: SendAnswer): Outcome {
  const code = answer.code ?? `ANSWER_RULE_${answer.rule?.number ?? 0}`;
  switch (answer.rule?.outcome) {
    case 'accepted':
      return accept(true);
    case 'rejected':
      return { kind: 'rejected', code };
    case 'retry':
      return retry(code, true);
    case 'hold': {
      const forMs = answer.retryAfterMs;
      const { hold: kind = 'address' } = answer.rule;
      return { kind: 'hold', hold: kind, code, ...(forMs === undefined ? {} : { forMs }) };
    }
    case 'unknown':
    case undefined:
      return unknown(code);
  }
}

/**
 * The outcome of several contacts together: unknown, retry or rejected if one of them is, in this order;
 * else accepted.
 */
export function outcomeOfResults(
  results: readonly Pick<ContactResult, 'outcome' | 'code'>[],
): Outcome {
  const first = (kind: ContactResult['outcome']) =>
    results.find(({ outcome }) => outcome === kind)?.code;
  const [unknownCode, retryCode, rejectedCode] = [
    first('unknown'),
    first('retry'),
    first('rejected'),
  ];
  if (unknownCode !== undefined) return unknown(unknownCode);
  if (retryCode !== undefined) return retry(retryCode, true);
  return rejectedCode === undefined ? accept(true) : { kind: 'rejected', code: rejectedCode };
}

/** The outcome of a send call; the first matching row decides. */
export const OUTCOME_ROWS: readonly OutcomeRow[] = [
  {
    /** The worker is stopping or has lost the lock of the job: it is retried, and nothing is counted. */
    name: 'not sent, given up',
    when: ({ stage, failure }) => stage === 'not-sent' && failure === 'aborted',
    outcome: () => retry('ABORTED', false),
  },
  {
    /** Not the configured service answers, and the next job would get the same. */
    name: 'not sent, the certificate does not verify',
    when: ({ stage, failure }) => stage === 'not-sent' && failure === 'certificate',
    outcome: ({ failureCode }) => hold('address', failureCode ?? 'CERTIFICATE'),
  },
  {
    /** Proof that nothing was accepted. */
    name: 'not sent',
    when: ({ stage }) => stage === 'not-sent',
    outcome: () => retry('SERVICE_UNREACHABLE', true),
  },
  {
    /** It was written to a connected socket; whether the service accepted it is not known. */
    name: 'sent, no status',
    when: ({ stage, status }) => stage === 'sent' || status === undefined,
    outcome: ({ failureCode }) => unknown(failureCode ?? 'NO_ANSWER'),
  },
  {
    /** The operator knows answers of this service that the documents do not show (ANSWER_RULES_FILE). */
    name: 'an answer rule matches',
    when: ({ rule }) => rule !== undefined,
    outcome: outcomeOfRule,
  },
  {
    /** The contacts are settled one by one; this is the outcome of all of them together. */
    name: 'results per contact',
    when: ({ results }) => results !== undefined,
    outcome: ({ results = [] }) => outcomeOfResults(results),
  },
  {
    /** A page: a login form, a captive portal, a parked domain. Not the API. */
    name: '2xx, a page',
    when: (answer) => within(answer, 200, 299) && isHtml(answer),
    outcome: () => hold('address', 'HTML_ANSWER'),
  },
  {
    /** A success status with a body that says the opposite: the body is more exact. */
    name: '2xx, success: false',
    when: (answer) => within(answer, 200, 299) && answer.success === false,
    outcome: ({ code }) => ({ kind: 'rejected', code: code ?? 'SERVICE_REFUSED' }),
  },
  {
    /** The success body of a send is not shown (service-api), so any JSON counts. */
    name: '2xx, JSON or no body',
    when: (answer) =>
      within(answer, 200, 299) && (answer.body === 'json' || answer.body === 'none'),
    outcome: () => accept(true),
  },
  {
    /** The status says accepted and the body cannot be read: unconfirmed, and never sent again. */
    name: '2xx, unreadable',
    when: (answer) => within(answer, 200, 299),
    outcome: () => accept(false),
  },
  {
    /** Redirects are never followed: a POST would become a GET, or go to another server. */
    name: '3xx',
    when: (answer) => within(answer, 300, 399),
    outcome: holdAddress,
  },
  {
    /** Also gateways that lost the service behind them, with pages, too. */
    name: '5xx',
    when: (answer) => within(answer, 500, 599),
    outcome: (answer) => unknown(codeOf(answer)),
  },
  {
    /** Not a status of HTTP. */
    name: '1xx, 600 and above',
    when: (answer) => !within(answer, 400, 499),
    outcome: (answer) => unknown(codeOf(answer)),
  },
  {
    /** The service timed out waiting for the request, or refused a replay: nothing was accepted. */
    name: '408, 425',
    when: ({ status }) => status === 408 || status === 425,
    outcome: (answer) => retry(codeOf(answer), true),
  },
  {
    /** Refused before anything was done; the next job would get the same. */
    name: '429',
    when: ({ status }) => status === 429,
    outcome: (answer) => ({
      kind: 'hold',
      hold: 'throttled',
      code: codeOf(answer),
      ...(answer.retryAfterMs === undefined ? undefined : { forMs: answer.retryAfterMs }),
    }),
  },
  {
    /** The credit of the account has run out. */
    name: '402',
    when: ({ status }) => status === 402,
    outcome: (answer) => hold('credit', codeOf(answer)),
  },
  {
    /** A proxy asks for credentials. */
    name: '407',
    when: ({ status }) => status === 407,
    outcome: holdAddress,
  },
  {
    /** Too large: the fault of this request, also if a gateway answers with a page. */
    name: '413',
    when: ({ status }) => status === 413,
    outcome: reject,
  },
  {
    /** A token that is too young to be known everywhere was tried twice: retried, and not counted. */
    name: '401 or 403, within the grace of a young token',
    when: (answer) => isRefusal(answer) && oneTokenOnly(answer),
    outcome: (answer) => retry(codeOf(answer), false),
  },
  {
    /** The second token became invalid, or works for other notices: retried, and not counted. */
    name: '401 or 403, judged again',
    when: (answer, judgement) => isRefusal(answer) && judgement === 'again',
    outcome: (answer) => retry(codeOf(answer), false),
  },
  {
    /** A page instead of the API's own refusal. */
    name: '401 or 403, a page',
    when: (answer) => isRefusal(answer) && isHtml(answer),
    outcome: holdAddress,
  },
  {
    /** A fresh token is refused: the key pair, the app or the caller (service-api, Errors). */
    name: '401',
    when: ({ status }) => status === 401,
    outcome: holdCredentials,
  },
  {
    /** The caller lacks permission as such (service-api, Errors: meaning of the statuses). */
    name: '403, a documented code or none',
    when: ({ status, code }) =>
      status === 403 && (code === undefined || CREDENTIAL_CODES.has(code)),
    outcome: holdCredentials,
  },
  {
    /** Another permission, such as for a sender key: this notice is rejected. */
    name: '403, another code',
    when: ({ status }) => status === 403,
    outcome: reject,
  },
  {
    /** A page: the path is wrong. */
    name: 'other 4xx, a page',
    when: isHtml,
    outcome: holdAddress,
  },
  {
    /** The service refused this request for its content. */
    name: 'other 4xx',
    when: () => true,
    outcome: reject,
  },
];

/**
 * Whether the outcome depends on the verdict of the shared token: the attempt ended in 401 or 403 with two
 * different tokens.
 */
export function needsJudgement(answer: SendAnswer): boolean {
  if (answer.rule !== undefined || answer.results !== undefined) return false;
  return isRefusal(answer) && answer.stage === 'answered' && !oneTokenOnly(answer);
}

/**
 * The outcome of a send call.
 *
 * @param judgement if {@link needsJudgement}. Default: refused
 */
export function decideOutcome(answer: SendAnswer, judgement?: SecondRefusal): Outcome {
  return decidingRow(answer, judgement)?.outcome(answer) ?? unknown('NO_ROW');
}

/** The row of the table that decides about an answer. */
export function decidingRow(answer: SendAnswer, judgement?: SecondRefusal): OutcomeRow | undefined {
  return OUTCOME_ROWS.find((row) => row.when(answer, judgement));
}

import type { HoldKind } from '../contracts/hold.ts';
import type { Outcome } from '../contracts/outcome.ts';
import { APP_CODES, concernsToken } from '../contracts/token.ts';
import type { SendAnswer } from './send-call.ts';

export interface OutcomeRow {
  readonly name: string;
  readonly when: (answer: SendAnswer) => boolean;
  readonly outcome: (answer: SendAnswer) => Outcome;
}

/**
 * Contradictions after which a refusal with a code of the API is the notice's own: refused, another one
 * accepted, refused again.
 */
const REJECT_WITH_CODE = 1;

/** The same for a page or a refusal without a code, which something in between may cause now and then. */
const REJECT_WITHOUT_CODE = 4;

/** Statuses that speak of the route to the API or the form of every request, and never of one notice. */
const OF_THE_ROUTE: ReadonlySet<number> = new Set([405, 407, 415, 421, 426, 431, 451]);

const within = (answer: SendAnswer, from: number, to: number): boolean =>
  answer.status !== undefined && answer.status >= from && answer.status <= to;
const isRefusal = ({ status }: SendAnswer): boolean => status === 401 || status === 403;
const isHtml = ({ body }: SendAnswer): boolean => body === 'html';
/** The service's own code, else the status. */
const codeOf = ({ code, status }: SendAnswer): string => code ?? `HTTP_${status ?? 0}`;

const retry = (code: string, counted: boolean): Outcome => ({ kind: 'retry', code, counted });
const hold = (
  kind: HoldKind,
  code: string,
  scope: 'all' | 'row' | 'template',
  more: { forMs?: number; rejectAfter?: number } = {},
): Outcome => ({ kind: 'hold', hold: kind, code, scope, ...more });
const page = (): Outcome =>
  hold('address', 'HTML_ANSWER', 'template', { rejectAfter: REJECT_WITHOUT_CODE });
const until = ({ retryAfterMs }: SendAnswer) =>
  retryAfterMs === undefined ? {} : { forMs: retryAfterMs };
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
      return hold(answer.rule.hold ?? 'address', code, 'all', until(answer));
    }
    case 'unknown':
    case undefined:
      return unknown(code);
  }
}

/** The outcome of a send call; the first matching row decides. Those of nearly all answers come first. */
export const OUTCOME_ROWS: readonly OutcomeRow[] = [
  {
    /** The operator knows answers of this service that the documents do not show (ANSWER_RULES_FILE). */
    name: 'an answer rule matches',
    when: ({ rule }) => rule !== undefined,
    outcome: outcomeOfRule,
  },
  {
    /** The success body of a send is not shown (service-api), so any JSON counts. */
    name: '2xx, no body, or JSON without success: false',
    when: (answer) =>
      within(answer, 200, 299) &&
      answer.success !== false &&
      (answer.body === 'json' || answer.body === 'none'),
    outcome: () => accept(true),
  },
  {
    /** A page: a login form, a captive portal, a parked domain. Not the API. */
    name: '2xx, a page',
    when: (answer) => within(answer, 200, 299) && isHtml(answer),
    outcome: page,
  },
  {
    /** A success status with a body that says the opposite: the body is more exact. */
    name: '2xx, success: false',
    when: (answer) => within(answer, 200, 299) && answer.success === false,
    outcome: ({ code }) => ({ kind: 'rejected', code: code ?? 'SERVICE_REFUSED' }),
  },
  {
    /** The status says accepted and the body cannot be read: unconfirmed, and never sent again. */
    name: '2xx, unreadable',
    when: (answer) => within(answer, 200, 299),
    outcome: () => accept(false),
  },
  {
    /**
     * The worker is stopping or has lost the lock of the job, or the time of the call was over before a request
     * was tried: it is retried, and nothing is counted.
     */
    name: 'not sent, given up',
    when: ({ stage, failure }) => stage === 'not-sent' && failure === 'aborted',
    outcome: () => retry('ABORTED', false),
  },
  {
    /** Not the configured service answers, and the next job would get the same. */
    name: 'not sent, the certificate does not verify',
    when: ({ stage, failure }) => stage === 'not-sent' && failure === 'certificate',
    outcome: ({ failureCode }) => hold('address', failureCode ?? 'CERTIFICATE', 'row'),
  },
  {
    /** Proof that nothing was accepted, after the immediate retries; the next job would get the same. */
    name: 'not sent',
    when: ({ stage }) => stage === 'not-sent',
    outcome: () => hold('unreachable', 'SERVICE_UNREACHABLE', 'row'),
  },
  {
    /** It was written to a connected socket; whether the service accepted it is not known. */
    name: 'sent, no status',
    when: ({ stage, status }) => stage === 'sent' || status === undefined,
    outcome: ({ failureCode }) => unknown(failureCode ?? 'NO_ANSWER'),
  },
  {
    /** Redirects are never followed: a POST would become a GET, or go to another server. */
    name: '3xx',
    when: (answer) => within(answer, 300, 399),
    outcome: (answer) =>
      hold('address', codeOf(answer), 'row', { rejectAfter: REJECT_WITHOUT_CODE }),
  },
  {
    /** The service states that it takes nothing, and until when. */
    name: '503 with Retry-After',
    when: ({ status, retryAfterMs }) => status === 503 && retryAfterMs !== undefined,
    outcome: (answer) => hold('failing', codeOf(answer), 'row', until(answer)),
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
    /** Refused before anything was done; the next job would get the same, unless others are accepted. */
    name: '429',
    when: ({ status }) => status === 429,
    outcome: (answer) => hold('throttled', codeOf(answer), 'row', until(answer)),
  },
  {
    /** The credit of the account has run out. */
    name: '402',
    when: ({ status }) => status === 402,
    outcome: (answer) => hold('credit', codeOf(answer), 'all'),
  },
  {
    /** A proxy asks for credentials, or a gateway does not take what every request looks like. */
    name: '405, 407, 415, 421, 426, 431, 451',
    when: ({ status }) => status !== undefined && OF_THE_ROUTE.has(status),
    outcome: (answer) =>
      hold('address', codeOf(answer), 'row', { rejectAfter: REJECT_WITHOUT_CODE }),
  },
  {
    /** Too large: the fault of this request, also if a gateway answers with a page. */
    name: '413',
    when: ({ status }) => status === 413,
    outcome: reject,
  },
  {
    /** No time was left for another token: nothing is known about the notice or the next one. */
    name: '401 or 403, given up before the second request',
    when: (answer) => isRefusal(answer) && answer.givenUp === true,
    outcome: (answer) => retry(codeOf(answer), false),
  },
  {
    /** A page instead of the API's own refusal. */
    name: '401 or 403, a page',
    when: (answer) => isRefusal(answer) && isHtml(answer),
    outcome: page,
  },
  {
    /** The app or the address of the caller, as the service states it (service-api, Errors). */
    name: '401 or 403, a code about the app',
    when: (answer) => isRefusal(answer) && answer.code !== undefined && APP_CODES.has(answer.code),
    outcome: (answer) => hold('credentials', codeOf(answer), 'all'),
  },
  {
    /** The key pair, or a token that became invalid again: never the notice. */
    name: '401 or 403, a code about the token',
    when: (answer) => isRefusal(answer) && concernsToken(answer.code),
    outcome: (answer) => hold('credentials', codeOf(answer), 'row'),
  },
  {
    /** Another code: the app, or this notice, such as a sender key of another team. */
    name: '401 or 403, another code',
    when: (answer) => isRefusal(answer) && answer.code !== undefined,
    outcome: (answer) =>
      hold('credentials', codeOf(answer), 'template', { rejectAfter: REJECT_WITH_CODE }),
  },
  {
    name: '401 or 403, no code',
    when: isRefusal,
    outcome: (answer) =>
      hold('credentials', codeOf(answer), 'template', { rejectAfter: REJECT_WITHOUT_CODE }),
  },
  {
    /** A page: the path is wrong. */
    name: 'other 4xx, a page',
    when: isHtml,
    outcome: page,
  },
  {
    /** The service refused this request for its content. */
    name: 'other 4xx',
    when: () => true,
    outcome: reject,
  },
];

export function decideOutcome(answer: SendAnswer): Outcome {
  const row = OUTCOME_ROWS.find(({ when }) => when(answer));
  return row?.outcome(answer) ?? unknown('NO_ROW');
}

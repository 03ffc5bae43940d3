import { HOLDS } from '../contracts/hold.ts';
import { LANES, OUTCOME_KINDS } from '../contracts/outcome.ts';
import type { MetricRows } from './registry.ts';
import { ERROR_CODES } from '../contracts/errors.ts';

/** Label of every code that is not in a list below; it bounds the number of labels. */
export const OTHER = 'OTHER';

/** Statuses with a label of their own; the others count by their class. */
const STATUSES = [
  400, 401, 402, 403, 404, 408, 409, 413, 422, 425, 429, 500, 502, 503, 504,
] as const;

/** Why a request ended without a status, or was not written to a socket. */
const WIRE_CODES = [
  'ABORTED',
  'DEADLINE',
  'NO_ANSWER',
  'HTML_ANSWER',
  'CERTIFICATE',
  'SECOND_START',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'UND_ERR_SOCKET',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
] as const;

/** Codes of attempts that are labels. Any other code is {@link OTHER}. */
export const CODE_LABELS: readonly string[] = [
  ...Object.keys(ERROR_CODES),
  ...STATUSES.map((status) => `HTTP_${status}`),
  'HTTP_3XX',
  'HTTP_4XX',
  'HTTP_5XX',
  ...WIRE_CODES,
  OTHER,
];

const KNOWN: ReadonlySet<string> = new Set(CODE_LABELS);

/** @returns the label of the code of an outcome, which may be any text of the service */
export function codeLabel(code: string): string {
  if (KNOWN.has(code)) return code;
  const [, hundreds] = /^HTTP_([345])\d\d$/.exec(code) ?? [];
  return hundreds === undefined ? OTHER : `HTTP_${hundreds}XX`;
}

/** Codes of Redis errors and of its connection. */
export const REDIS_CODE_LABELS: readonly string[] = [
  'OOM',
  'READONLY',
  'MISCONF',
  'NOREPLICAS',
  'NOAUTH',
  'WRONGPASS',
  'NOPERM',
  'BUSY',
  'LOADING',
  'WRONGTYPE',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  OTHER,
];

const REDIS_KNOWN: ReadonlySet<string> = new Set(REDIS_CODE_LABELS);

/** @returns the label of the code of a Redis error */
export function redisCodeLabel(code: string): string {
  return REDIS_KNOWN.has(code) ? code : OTHER;
}

/** Names of the holds. */
export const HOLD_KINDS: readonly string[] = Object.keys(HOLDS);

/** Outcomes that have a code. */
export const CODED_OUTCOMES = ['rejected', 'retry', 'hold', 'unknown'] as const;

/** Holds that the token can cause. */
const TOKEN_HOLDS = ['credentials', 'token-contested', 'token-unavailable'] as const;

/** Metrics of one worker process. */
export const WORKER_METRICS = {
  notices_attempts_total: {
    type: 'counter',
    help: 'Attempts that ended, by lane and outcome.',
    labels: { lane: LANES, outcome: OUTCOME_KINDS },
  },
  notices_contacts_total: {
    type: 'counter',
    help: 'Contacts in attempts that ended. A contact counts once per attempt.',
    labels: { lane: LANES, outcome: OUTCOME_KINDS },
  },
  notices_attempt_codes_total: {
    type: 'counter',
    help: 'Attempts that were not accepted, by error code or HTTP status; OTHER for all others.',
    labels: { outcome: CODED_OUTCOMES, code: CODE_LABELS },
  },
  notices_requests_total: {
    type: 'counter',
    help: 'Send requests written to a connected socket. An attempt that renews the token makes two.',
    labels: { lane: LANES },
  },
  notices_possibly_sent_twice_contacts_total: {
    type: 'counter',
    help: 'Contacts that this process sent again although the service may have accepted an earlier request.',
    labels: { lane: LANES },
  },
  notices_answer_seconds: {
    type: 'histogram',
    help: 'Time from a send request to the end of its response.',
    labels: { lane: LANES },
    // Fine in the usual range, up to the longest deadline of a send.
    buckets: [
      0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.25, 0.4, 0.7, 1.2, 2.5, 5, 10, 20, 60,
    ],
  },
  notices_queue_wait_seconds: {
    type: 'histogram',
    help: 'Time from when a job was due, or was sent again, until a worker took it for its first attempt, including holds.',
    labels: { lane: LANES },
    // Waits of hours come from holds and batches.
    buckets: [0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 1_800, 7_200, 28_800],
  },
  notices_token_wait_seconds: {
    type: 'histogram',
    help: 'Time that an attempt waited for its token.',
    buckets: [0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  },
  notices_token_issuances_total: {
    type: 'counter',
    help: 'Tokens that the service issued to this process.',
  },
  notices_token_refusals_total: {
    type: 'counter',
    help: 'Failed issuances, by the hold that such a failure causes, unless it is of one worker alone.',
    labels: { hold: TOKEN_HOLDS },
  },
  notices_jobs_in_flight: {
    type: 'gauge',
    help: 'Jobs in progress in this process.',
  },
  notices_job_slots: {
    type: 'gauge',
    help: 'Jobs that this process can work on at the same time, both lanes together.',
  },
  notices_worker_ready: {
    type: 'gauge',
    help: '1 while this process can take and send jobs, else 0; /readyz shows the reason.',
  },
  notices_redis_errors_total: {
    type: 'counter',
    help: 'Errors of the connections to Redis, by code; OTHER for all others.',
    labels: { code: REDIS_CODE_LABELS },
  },
  notices_worker_info: {
    type: 'gauge',
    help: '1, with the version of this package and of Node.',
    labels: { version: 'version of notice-queue', node: 'version of Node' },
  },
} as const satisfies MetricRows;

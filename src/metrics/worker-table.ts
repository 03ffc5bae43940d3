import { HOLDS } from '../contracts/hold.ts';
import { OUTCOME_KINDS } from '../contracts/outcome.ts';
import { LANES } from '../contracts/seen-attempt.ts';
import { DURATION_BOUNDS_MS } from '../traffic/histogram.ts';
import { CODE_LABELS, REDIS_CODE_LABELS } from './code-label.ts';
import { inSeconds, type MetricRows } from './metric.ts';

/** Names of the holds. */
export const HOLD_KINDS: readonly string[] = Object.keys(HOLDS);

/** Outcomes that have a code. */
export const CODED_OUTCOMES = ['rejected', 'retry', 'hold', 'unknown'] as const;

/** Holds that a token slot can bring on. */
const TOKEN_HOLDS = ['credentials', 'token-contested', 'token-unavailable'] as const;

/** What a worker process says of itself. Each series also has the label `process`. */
export const WORKER_METRICS = {
  notices_attempts_total: {
    type: 'counter',
    help: 'Attempts that ended, by lane and outcome.',
    labels: { lane: LANES, outcome: OUTCOME_KINDS },
  },
  notices_contacts_total: {
    type: 'counter',
    help: 'Contacts in attempts that ended. A contact that is tried again counts again.',
    labels: { lane: LANES, outcome: OUTCOME_KINDS },
  },
  notices_attempt_codes_total: {
    type: 'counter',
    help: 'Attempts that were not accepted, by code of ours, or HTTP status; OTHER for all others.',
    labels: { outcome: CODED_OUTCOMES, code: CODE_LABELS },
  },
  notices_requests_total: {
    type: 'counter',
    help: 'Send requests put on a connected socket. A renewed token makes two of one attempt.',
    labels: { lane: LANES },
  },
  notices_answer_seconds: {
    type: 'histogram',
    help: 'From a send request on its socket to the end of its answer.',
    labels: { lane: LANES },
    buckets: inSeconds(DURATION_BOUNDS_MS.answer),
  },
  notices_queue_wait_seconds: {
    type: 'histogram',
    help: 'From when a job was due to its first attempt that asked the service, holds included.',
    labels: { lane: LANES },
    buckets: inSeconds(DURATION_BOUNDS_MS.queueWait),
  },
  notices_token_wait_seconds: {
    type: 'histogram',
    help: 'Time that an attempt waited for its token.',
    buckets: inSeconds(DURATION_BOUNDS_MS.tokenWait),
  },
  notices_token_issuances_total: {
    type: 'counter',
    help: 'Tokens that this process asked the service for and got.',
  },
  notices_token_refusals_total: {
    type: 'counter',
    help: 'Issuances that failed, by the hold that they bring on.',
    labels: { hold: TOKEN_HOLDS },
  },
  notices_jobs_in_flight: {
    type: 'gauge',
    help: 'Jobs that this process works on right now.',
  },
  notices_job_slots: {
    type: 'gauge',
    help: 'Jobs that this process would work on at the same time, both lanes together.',
  },
  notices_worker_ready: {
    type: 'gauge',
    help: '1 while this process can take and send jobs, else 0; /readyz says why.',
  },
  notices_standstill_seconds: {
    type: 'gauge',
    help: 'For how long this process has taken nothing although jobs wait and nothing holds them.',
  },
  notices_redis_errors_total: {
    type: 'counter',
    help: 'Errors of the connections to Redis, by the first word of what it said; OTHER for all others.',
    labels: { code: REDIS_CODE_LABELS },
  },
  notices_worker_info: {
    type: 'gauge',
    help: '1, with the version of this package and of Node.',
    labels: { version: 'version of notice-queue', node: 'version of Node' },
  },
} as const satisfies MetricRows;

/** What the supervisor of several processes adds; without the label `process`. */
export const SUPERVISOR_METRICS = {
  notices_process_restarts_total: {
    type: 'counter',
    help: 'Worker processes that ended by themselves and were started again (PROCESSES above 1).',
  },
} as const satisfies MetricRows;

import { collectDefaultMetrics } from 'prom-client';
import { OUTCOME_KINDS, LANES, type SeenAttempt } from '../contracts/outcome.ts';
import type { TokenEvent } from '../token/token-status.ts';
import { VERSION } from '../contracts/version.ts';
import { codeLabel, REDIS_CODE_LABELS, redisCodeLabel, WORKER_METRICS } from './worker-table.ts';
import { MetricTable } from './registry.ts';

/** Values that are read at each scrape. */
export interface WorkerGauges {
  readonly inFlight: () => number;
  readonly slots: number;
  readonly ready: () => boolean;
}

/**
 * The metrics of one worker process in a registry of their own, with the default metrics of prom-client.
 * Counting costs no round trip.
 */
export class WorkerMetrics {
  readonly #table = new MetricTable(WORKER_METRICS);
  #gauges: WorkerGauges = { inFlight: () => 0, slots: 0, ready: () => false };

  constructor() {
    const table = this.#table;
    for (const name of Object.keys(WORKER_METRICS) as (keyof typeof WORKER_METRICS)[]) {
      table.metric(name);
    }
    collectDefaultMetrics({ register: table.registry });
    table.metric('notices_worker_info').set({ version: VERSION, node: process.version }, 1);
    // Series start at 0, so that the first event is an increase.
    for (const lane of LANES) {
      for (const outcome of OUTCOME_KINDS) {
        table.metric('notices_attempts_total').inc({ lane, outcome }, 0);
        table.metric('notices_contacts_total').inc({ lane, outcome }, 0);
      }
      table.metric('notices_requests_total').inc({ lane }, 0);
      table.metric('notices_possibly_sent_twice_contacts_total').inc({ lane }, 0);
      table.metric('notices_answer_seconds').zero({ lane });
      table.metric('notices_queue_wait_seconds').zero({ lane });
    }
    for (const hold of WORKER_METRICS.notices_token_refusals_total.labels.hold) {
      table.metric('notices_token_refusals_total').inc({ hold }, 0);
    }
    for (const code of REDIS_CODE_LABELS)
      table.metric('notices_redis_errors_total').inc({ code }, 0);
  }

  /** Sets where gauges are read; until then nothing is in flight and nothing is ready. */
  watch(gauges: WorkerGauges): void {
    this.#gauges = gauges;
  }

  attempt(attempt: SeenAttempt): void {
    const { lane, outcome, code, contacts, requests, answerMs, waitedMs } = attempt;
    const table = this.#table;
    table.metric('notices_attempts_total').inc({ lane, outcome });
    table.metric('notices_contacts_total').inc({ lane, outcome }, contacts);
    table.metric('notices_requests_total').inc({ lane }, requests);
    table
      .metric('notices_possibly_sent_twice_contacts_total')
      .inc({ lane }, attempt.possiblySentTwice ?? 0);
    if (code !== undefined)
      table.metric('notices_attempt_codes_total').inc({ outcome, code: codeLabel(code) });
    if (answerMs !== undefined)
      table.metric('notices_answer_seconds').observe({ lane }, answerMs / 1_000);
    if (waitedMs !== undefined)
      table.metric('notices_queue_wait_seconds').observe({ lane }, waitedMs / 1_000);
  }

  tokenWait(ms: number): void {
    this.#table.metric('notices_token_wait_seconds').observe(ms / 1_000);
  }

  tokenEvent(event: TokenEvent): void {
    const refusals = this.#table.metric('notices_token_refusals_total');
    if (event.kind === 'issued') this.#table.metric('notices_token_issuances_total').inc();
    else if (event.kind === 'refused') refusals.inc({ hold: event.hold });
    else if (event.kind === 'contested') refusals.inc({ hold: 'token-contested' });
  }

  /** @param code of the error (redisErrorCode) */
  redisError(code: string): void {
    this.#table.metric('notices_redis_errors_total').inc({ code: redisCodeLabel(code) });
  }

  /** @returns all metrics in the text format of Prometheus */
  async text(): Promise<string> {
    const { inFlight, slots, ready } = this.#gauges;
    const table = this.#table;
    table.metric('notices_jobs_in_flight').set(inFlight());
    table.metric('notices_job_slots').set(slots);
    table.metric('notices_worker_ready').set(ready() ? 1 : 0);
    return table.registry.metrics();
  }
}

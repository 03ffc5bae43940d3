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
  readonly #attempts = this.#table.counter('notices_attempts_total');
  readonly #contacts = this.#table.counter('notices_contacts_total');
  readonly #codes = this.#table.counter('notices_attempt_codes_total');
  readonly #requests = this.#table.counter('notices_requests_total');
  readonly #sentTwice = this.#table.counter('notices_possibly_sent_twice_contacts_total');
  readonly #answer = this.#table.histogram('notices_answer_seconds');
  readonly #queueWait = this.#table.histogram('notices_queue_wait_seconds');
  readonly #tokenWait = this.#table.histogram('notices_token_wait_seconds');
  readonly #issuances = this.#table.counter('notices_token_issuances_total');
  readonly #refusals = this.#table.counter('notices_token_refusals_total');
  readonly #inFlight = this.#table.gauge('notices_jobs_in_flight');
  readonly #slots = this.#table.gauge('notices_job_slots');
  readonly #ready = this.#table.gauge('notices_worker_ready');
  readonly #redisErrors = this.#table.counter('notices_redis_errors_total');
  #gauges: WorkerGauges = { inFlight: () => 0, slots: 0, ready: () => false };

  constructor() {
    collectDefaultMetrics({ register: this.#table.registry });
    this.#table.gauge('notices_worker_info').set({ version: VERSION, node: process.version }, 1);
    // Series start at 0, so that the first event is an increase.
    for (const lane of LANES) {
      for (const outcome of OUTCOME_KINDS) {
        this.#attempts.inc({ lane, outcome }, 0);
        this.#contacts.inc({ lane, outcome }, 0);
      }
      this.#requests.inc({ lane }, 0);
      this.#sentTwice.inc({ lane }, 0);
      this.#answer.zero({ lane });
      this.#queueWait.zero({ lane });
    }
    for (const hold of WORKER_METRICS.notices_token_refusals_total.labels.hold) {
      this.#refusals.inc({ hold }, 0);
    }
    for (const code of REDIS_CODE_LABELS) this.#redisErrors.inc({ code }, 0);
  }

  /** Sets where gauges are read; until then nothing is in flight and nothing is ready. */
  watch(gauges: WorkerGauges): void {
    this.#gauges = gauges;
  }

  attempt(attempt: SeenAttempt): void {
    const { lane, outcome, code, contacts, requests, answerMs, waitedMs } = attempt;
    this.#attempts.inc({ lane, outcome });
    this.#contacts.inc({ lane, outcome }, contacts);
    this.#requests.inc({ lane }, requests);
    this.#sentTwice.inc({ lane }, attempt.possiblySentTwice ?? 0);
    if (code !== undefined) this.#codes.inc({ outcome, code: codeLabel(code) });
    if (answerMs !== undefined) this.#answer.observe({ lane }, answerMs / 1_000);
    if (waitedMs !== undefined) this.#queueWait.observe({ lane }, waitedMs / 1_000);
  }

  tokenWait(ms: number): void {
    this.#tokenWait.observe(ms / 1_000);
  }

  tokenEvent(event: TokenEvent): void {
    if (event.kind === 'issued') this.#issuances.inc();
    else if (event.kind === 'refused') this.#refusals.inc({ hold: event.hold });
    else if (event.kind === 'contested') this.#refusals.inc({ hold: 'token-contested' });
  }

  /** @param code of the error (redisErrorCode) */
  redisError(code: string): void {
    this.#redisErrors.inc({ code: redisCodeLabel(code) });
  }

  /** @returns all metrics in the text format of Prometheus */
  async text(): Promise<string> {
    const { inFlight, slots, ready } = this.#gauges;
    this.#inFlight.set(inFlight());
    this.#slots.set(slots);
    this.#ready.set(ready() ? 1 : 0);
    return this.#table.registry.metrics();
  }
}

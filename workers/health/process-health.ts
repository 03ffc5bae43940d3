import { WorkerMetrics, type WorkerGauges } from '../../src/metrics/worker-metrics.ts';
import type { Readiness, Unready } from './readiness.ts';

/** The health of one worker process: not ready until it has started, then as its components report. */
export class ProcessHealth {
  readonly counted = new WorkerMetrics();
  readonly #starting: Unready = { reason: 'it is starting', since: Date.now() };
  #readiness: Readiness = { reasons: () => [this.#starting] };

  /** Called when the worker has started: its components report from now on. */
  watch(readiness: Readiness, gauges: Omit<WorkerGauges, 'ready'>): void {
    this.#readiness = readiness;
    this.counted.watch({ ...gauges, ready: () => readiness.reasons().length === 0 });
  }

  /** Empty when ready. */
  reasons(): readonly Unready[] {
    return this.#readiness.reasons();
  }

  /** In the text form of Prometheus. */
  metrics(): Promise<string> {
    return this.counted.text();
  }
}

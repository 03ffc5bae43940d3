import { WorkerMetrics, type WorkerGauges } from '../../src/metrics/worker-metrics.ts';
import type { HealthSource } from './health-server.ts';
import type { Readiness, Unready } from './readiness.ts';

/** The health of one worker process: not ready until it has started, then as its components report. */
export class ProcessHealth implements HealthSource {
  readonly counted: WorkerMetrics;
  #readiness: Readiness;

  /** @param process number of this process among those of its supervisor; 0 without one */
  constructor(process: number) {
    this.counted = new WorkerMetrics(process);
    const starting: Unready = { reason: 'it is starting', since: Date.now() };
    this.#readiness = { reasons: () => [starting] };
  }

  /** Called when the worker has started: its components report from now on. */
  watch(readiness: Readiness, gauges: Omit<WorkerGauges, 'ready'>): void {
    this.#readiness = readiness;
    this.counted.watch({ ...gauges, ready: () => readiness.reasons().length === 0 });
  }

  reasons(): Promise<readonly Unready[]> {
    return Promise.resolve(this.#readiness.reasons());
  }

  metrics(): Promise<string> {
    return this.counted.text();
  }
}

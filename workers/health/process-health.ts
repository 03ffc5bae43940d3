import { WorkerMetrics, type WorkerGauges } from '../../src/metrics/worker-metrics.ts';
import type { HealthSource, Readiness, Unready } from './health-server.ts';

/** What one worker process says of itself: not ready until it has started, then what its parts say. */
export class ProcessHealth implements HealthSource {
  readonly counted: WorkerMetrics;
  #readiness: Readiness;

  /** @param process number of this process among those of its supervisor; 0 without one */
  constructor(process: number) {
    this.counted = new WorkerMetrics(process);
    const starting: Unready = { reason: 'it is starting', since: Date.now() };
    this.#readiness = { reasons: () => [starting] };
  }

  /** The worker has started. */
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

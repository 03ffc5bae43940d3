import type { ChildProcess } from 'node:child_process';
import { mergeTexts, MetricTable } from '../../src/metrics/registry.ts';
import { SUPERVISOR_METRICS } from '../../src/metrics/worker-table.ts';
import { askChild } from './health-channel.ts';
import type { HealthSource } from './health-server.ts';
import type { Unready } from './readiness.ts';

/** A process that does not answer within this time is not ready, and its metrics are missing. */
const ANSWER_MS = 2_000;

/**
 * The health of all processes of a supervisor on one port: ready when every process is. Metrics have the
 * label `process`.
 */
export class SupervisedHealth implements HealthSource {
  readonly #count: number;
  readonly #childAt: (process: number) => ChildProcess | undefined;
  readonly #table = new MetricTable(SUPERVISOR_METRICS);
  readonly #restarts = this.#table.counter('notices_process_restarts_total');
  readonly #endedSince = new Map<number, number>();
  readonly #endedForGood = new Set<number>();
  readonly #silentSince = new Map<number, number>();

  /** @param childAt the running process with this number; undefined while there is none */
  constructor(count: number, childAt: (process: number) => ChildProcess | undefined) {
    this.#count = count;
    this.#childAt = childAt;
  }

  /** Called when a process ended by itself; it is restarted. */
  ended(process: number): void {
    this.#endedSince.set(process, Date.now());
    this.#restarts.inc();
  }

  /** Called when a process ended that is not restarted: its configuration is invalid, or the supervisor stops. */
  endedForGood(process: number): void {
    this.#endedSince.set(process, Date.now());
    this.#endedForGood.add(process);
  }

  async reasons(): Promise<readonly Unready[]> {
    const all = await this.#each(async (process, child) => {
      if (child === undefined) {
        const since = this.#endedSince.get(process) ?? Date.now();
        const reason = this.#endedForGood.has(process)
          ? 'it ended and is not restarted: see the end of its log'
          : 'it ended and is being restarted';
        return [{ process, reason, since }];
      }
      const health = await askChild(child, ANSWER_MS);
      if (health === undefined) {
        const since = this.#silentSince.get(process) ?? Date.now();
        this.#silentSince.set(process, since);
        return [{ process, reason: 'it does not answer', since }];
      }
      this.#silentSince.delete(process);
      return health.reasons.map((reason) => ({ ...reason, process }));
    });
    return all.flat();
  }

  async metrics(): Promise<string> {
    const texts = await this.#each(async (_, child) =>
      child === undefined ? undefined : (await askChild(child, ANSWER_MS))?.metrics,
    );
    const own = await this.#table.registry.metrics();
    return mergeTexts([own, ...texts.filter((text) => text !== undefined)]);
  }

  #each<Result>(
    run: (process: number, child: ChildProcess | undefined) => Promise<Result>,
  ): Promise<Result[]> {
    return Promise.all(
      Array.from({ length: this.#count }, (_, process) => run(process, this.#childAt(process))),
    );
  }
}

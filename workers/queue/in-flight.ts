import type { Job, Worker } from 'bullmq';

/** Errors with which a run requeues or delays its job: nothing is lost with them. */
const REQUEUES: ReadonlySet<string> = new Set(['DelayedError', 'RateLimitError']);

/** Counts the jobs of a process. */
export class InFlight {
  readonly #lockDurationMs: number;
  #active = 0;
  #started = 0;
  /** When runs ended whose result BullMQ has not recorded yet, the oldest first. */
  readonly #unrecorded = new Map<string, number>();

  /** @param lockDurationMs LOCK_DURATION_MS: after that the job is taken by another worker anyway */
  constructor(lockDurationMs: number) {
    this.#lockDurationMs = lockDurationMs;
  }

  /** Jobs in progress. */
  get active(): number {
    return this.#active;
  }

  /** Runs since the start of the process. */
  get started(): number {
    return this.#started;
  }

  /** Whether a job is in progress, or a result would be lost if the process ended now. */
  get busy(): boolean {
    this.#removeExpired();
    return this.#active > 0 || this.#unrecorded.size > 0;
  }

  /** Runs a job and counts it. */
  async run<Result>(job: Job, run: () => Promise<Result>): Promise<Result> {
    this.#active++;
    this.#started++;
    const hasResult = () => this.#unrecorded.set(nameOf(job), performance.now());
    try {
      const result = await run();
      hasResult();
      return result;
    } catch (error) {
      if (!(error instanceof Error && REQUEUES.has(error.name))) hasResult();
      throw error;
    } finally {
      this.#active--;
      this.#removeExpired();
    }
  }

  /** Follows which results of a worker BullMQ has recorded. */
  watch(worker: Worker): void {
    const recorded = (job: Job | undefined) => {
      if (job !== undefined) this.#unrecorded.delete(nameOf(job));
    };
    worker.on('completed', recorded);
    worker.on('failed', recorded);
  }

  #removeExpired(): void {
    const before = performance.now() - this.#lockDurationMs;
    for (const [name, endedAt] of this.#unrecorded) {
      if (endedAt > before) return;
      this.#unrecorded.delete(name);
    }
  }
}

/** Ids are unique within their lane. */
const nameOf = ({ queueName, id }: Job) => `${queueName} ${id ?? ''}`;

import type { Job, Worker } from 'bullmq';

/** Errors by which a run gives its job back, unspent: nothing is lost with them. */
const GIVES_BACK: ReadonlySet<string> = new Set(['DelayedError', 'RateLimitError']);

/** Counts the jobs of a process. */
export class InFlight {
  readonly #lockDurationMs: number;
  #active = 0;
  #begun = 0;
  /** When runs ended, the oldest first, with something that BullMQ has not heard yet. */
  readonly #unheard = new Map<string, number>();

  /** @param lockDurationMs after which a job is another worker's, whatever became of it here */
  constructor(lockDurationMs: number) {
    this.#lockDurationMs = lockDurationMs;
  }

  /** Jobs in their runs right now. */
  get active(): number {
    return this.#active;
  }

  /** Runs since the start. */
  get begun(): number {
    return this.#begun;
  }

  /** Whether something is under way, or known that would be lost if the process ended now. */
  get busy(): boolean {
    this.#forget();
    return this.#active > 0 || this.#unheard.size > 0;
  }

  async run<Result>(job: Job, run: () => Promise<Result>): Promise<Result> {
    this.#active++;
    this.#begun++;
    const known = () => this.#unheard.set(nameOf(job), performance.now());
    try {
      const result = await run();
      known();
      return result;
    } catch (error) {
      if (!(error instanceof Error && GIVES_BACK.has(error.name))) known();
      throw error;
    } finally {
      this.#active--;
      this.#forget();
    }
  }

  /** Follows what BullMQ has heard of a worker's jobs. */
  watch(worker: Worker): void {
    const heard = (job: Job | undefined) => {
      if (job !== undefined) this.#unheard.delete(nameOf(job));
    };
    worker.on('completed', heard);
    worker.on('failed', heard);
  }

  #forget(): void {
    const before = performance.now() - this.#lockDurationMs;
    for (const [name, endedAt] of this.#unheard) {
      if (endedAt > before) return;
      this.#unheard.delete(name);
    }
  }
}

/** Ids are unique within their lane. */
const nameOf = ({ queueName, id }: Job) => `${queueName} ${id ?? ''}`;

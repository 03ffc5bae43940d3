import type { Job } from 'bullmq';

/** Errors with which a run requeues or delays its job: nothing is lost with them. */
const REQUEUES: ReadonlySet<string> = new Set(['DelayedError', 'RateLimitError']);

/** Marks a job whose run has ended and whose end Redis has not recorded yet; not a Set of them, see Slots. */
const UNRECORDED = Symbol('unrecorded');
type MarkedJob = Job & { [UNRECORDED]?: boolean };

export class InFlight {
  #active = 0;
  #unrecorded = 0;

  get active(): number {
    return this.#active;
  }

  /** Whether a job is in progress, or a result would be lost if the process ended now. */
  get busy(): boolean {
    return this.#active > 0 || this.#unrecorded > 0;
  }

  async run<Result>(job: Job, run: () => Promise<Result>): Promise<Result> {
    this.#active++;
    try {
      const result = await run();
      this.#mark(job, true);
      return result;
    } catch (error) {
      if (!(error instanceof Error && REQUEUES.has(error.name))) {
        this.#mark(job, true);
      }
      throw error;
    } finally {
      this.#active--;
    }
  }

  recorded(job: Job): void {
    this.#mark(job, false);
  }

  #mark(job: MarkedJob, isUnrecorded: boolean): void {
    if ((job[UNRECORDED] ?? false) === isUnrecorded) return;
    job[UNRECORDED] = isUnrecorded;
    this.#unrecorded += isUnrecorded ? 1 : -1;
  }
}

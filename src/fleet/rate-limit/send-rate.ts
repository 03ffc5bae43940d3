/** Resolution of the counts, and how many steps are kept. */
const STEP_MS = 100;
const STEPS = 60;

/** The period that {@link SendRate.perSecond} measures. */
const WINDOW_MS = 5_000;

/** A shorter time gives no rate: the jobs that wait for a worker all start at once. */
const LEAST_MS = 1_000;

/** Measures the recent send rate of this process with one counter per step. */
export class SendRate {
  readonly #counts = new Float64Array(STEPS);
  readonly #steps = new Float64Array(STEPS).fill(-Infinity);

  /** Counts one send. @param at milliseconds of a monotonic clock */
  count(at: number): void {
    const step = Math.floor(at / STEP_MS);
    const index = step % STEPS;
    if (this.#steps[index] !== step) {
      this.#steps[index] = step;
      this.#counts[index] = 0;
    }
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
  }

  /**
   * Sends per second: those of the last five seconds, divided by the time since the first of them; 0 while
   * that is less than a second ago.
   */
  perSecond(at: number): number {
    const { total, first } = this.#since(at, WINDOW_MS);
    const spanMs = at - first * STEP_MS;
    return spanMs < LEAST_MS ? 0 : (total * 1_000) / spanMs;
  }

  /** Number of sends in the last second. */
  lastSecond(at: number): number {
    return this.#since(at, 1_000).total;
  }

  #since(at: number, windowMs: number): { total: number; first: number } {
    const now = Math.floor(at / STEP_MS);
    const oldest = now - windowMs / STEP_MS;
    let [total, first] = [0, now];
    for (const [index, step] of this.#steps.entries()) {
      if (step < oldest || step > now) continue;
      total += this.#counts[index] ?? 0;
      first = Math.min(first, step);
    }
    return { total, first };
  }
}

/** How finely sends are counted in time, and how far back. */
const STEP_MS = 100;
const STEPS = 60;

/** How far back {@link SendRate.perSecond} looks. */
const WINDOW_MS = 5_000;

/** Less time is no measure of a rate: the jobs that wait for a worker all start at once. */
const LEAST_MS = 1_000;

/** How fast this process has sent lately, at the price of one counter. */
export class SendRate {
  readonly #counts = new Float64Array(STEPS);
  readonly #steps = new Float64Array(STEPS).fill(-Infinity);

  /** @param at milliseconds of a clock that only goes forward */
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
   * Sends a second: those of the last five seconds, by the time since the first of them. 0 while that
   * is less than a second ago.
   */
  perSecond(at: number): number {
    const { total, first } = this.#since(at, WINDOW_MS);
    const spanMs = at - first * STEP_MS;
    return spanMs < LEAST_MS ? 0 : (total * 1_000) / spanMs;
  }

  /** Sends of the last second. */
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

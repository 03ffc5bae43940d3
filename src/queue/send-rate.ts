/** How finely sends are counted in time, and how far back at most. */
const STEP_MS = 100;
const STEPS = 60;

/** A rate is measured over at least so long, so that a spurt of a moment is no rate. */
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
   * Sends a second: those of the window, by the time since the first of them, a second at least.
   *
   * @param windowMs how far back it looks, six seconds at most
   */
  perSecond(at: number, windowMs: number): number {
    const now = Math.floor(at / STEP_MS);
    const oldest = now - Math.min(Math.ceil(windowMs / STEP_MS), STEPS - 1);
    let total = 0;
    let first = now;
    for (const [index, step] of this.#steps.entries()) {
      if (step < oldest || step > now) continue;
      total += this.#counts[index] ?? 0;
      first = Math.min(first, step);
    }
    return (total * 1_000) / Math.max(LEAST_MS, at - first * STEP_MS);
  }
}

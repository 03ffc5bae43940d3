/** One reading: so much was done at that time. */
interface RateReading {
  readonly at: number;
  readonly done: number;
}

/** How fast something goes: over the last seconds, so that a pause or a spurt shows soon. */
export class ProgressRate {
  readonly #windowMs: number;
  #readings: RateReading[] = [];

  /** @param windowMs how far back it looks, in milliseconds */
  constructor(windowMs = 10_000) {
    this.#windowMs = windowMs;
  }

  /** @param at milliseconds of a clock that only goes forward */
  read(at: number, done: number): void {
    this.#readings.push({ at, done });
    const oldest = this.#readings.findLastIndex((reading) => reading.at <= at - this.#windowMs);
    if (oldest > 0) this.#readings = this.#readings.slice(oldest);
  }

  /** A second; 0 until two readings differ in time. */
  get rate(): number {
    const [first, last] = [this.#readings[0], this.#readings.at(-1)];
    if (first === undefined || last === undefined || last.at <= first.at) return 0;
    return Math.max(0, ((last.done - first.done) * 1_000) / (last.at - first.at));
  }

  /** Milliseconds until so much more is done; undefined while nothing moves. */
  timeFor(more: number): number | undefined {
    return this.rate === 0 ? undefined : (more / this.rate) * 1_000;
  }
}

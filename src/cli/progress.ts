import type { Output } from './command-context.ts';
import { writeAll } from './output.ts';
import { terminalLine } from '../format/format.ts';

/** A line is written at most this often, in milliseconds. */
const EVERY_MS = 1_000;

/**
 * A line that stays the same is written again after so many milliseconds: only a write shows that the reader is gone.
 */
const REPEAT_MS = 5_000;

/** Progress as lines on standard error, `sending 12 %  text`: one a second where it changes, and the last one. */
export class ProgressLines {
  readonly #what: string;
  readonly #target: Output;
  /** False once the reader has closed the stream. */
  isRead = true;
  #shownAt = -Infinity;
  #shown = '';
  #latest = '';

  /** @param what label before the text */
  constructor(what: string, target: Output) {
    this.#what = what;
    this.#target = target;
  }

  /** @param share from 0 to 1; undefined when the total is not known */
  show(share: number | undefined, text: string): void {
    const percent =
      share === undefined ? '' : ` ${Math.floor(Math.min(1, Math.max(0, share)) * 100)} %`;
    this.#latest = terminalLine(`${this.#what}${percent}  ${text}`);
    const restMs = performance.now() - this.#shownAt;
    if (restMs < (this.#latest === this.#shown ? REPEAT_MS : EVERY_MS)) return;
    this.#write();
  }

  /** Writes what was not shown yet. */
  end(): void {
    if (this.#latest !== this.#shown) this.#write();
  }

  #write(): void {
    this.#shownAt = performance.now();
    this.#shown = this.#latest;
    void writeAll(this.#target, `${this.#latest}\n`).then((isTaken) => {
      this.isRead &&= isTaken;
    });
  }
}

/** Rate of progress over the last seconds, so that changes of speed show soon. */
export class ProgressRate {
  readonly #windowMs: number;
  #readings: { readonly at: number; readonly done: number }[] = [];

  /** @param windowMs length of the window, in milliseconds */
  constructor(windowMs = 10_000) {
    this.#windowMs = windowMs;
  }

  /** @param at milliseconds of a monotonic clock */
  read(at: number, done: number): void {
    this.#readings.push({ at, done });
    const oldest = this.#readings.findLastIndex((reading) => reading.at <= at - this.#windowMs);
    if (oldest > 0) this.#readings = this.#readings.slice(oldest);
  }

  /** Per second; 0 until two measurements differ in time. */
  get rate(): number {
    const [first, last] = [this.#readings[0], this.#readings.at(-1)];
    if (first === undefined || last === undefined || last.at <= first.at) return 0;
    return Math.max(0, ((last.done - first.done) * 1_000) / (last.at - first.at));
  }

  /** Estimated milliseconds until `more` is done; undefined without progress. */
  timeFor(more: number): number | undefined {
    return this.rate === 0 ? undefined : (more / this.rate) * 1_000;
  }
}

import { terminalLine } from '../format/terminal-text.ts';

/** Where a bar is drawn. */
export interface ProgressTarget {
  readonly isTTY?: boolean;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

const BAR_WIDTH = 30;

/** A progress bar on a terminal; elsewhere at most one line per interval, so that logs stay readable. */
export class ProgressBar {
  readonly #what: string;
  readonly #target: ProgressTarget;
  readonly #everyMs: number;
  readonly #repeatMs: number;
  #lastLineAt = -Infinity;
  #last = '';

  /**
   * @param what label before the bar
   * @param everyMs minimum interval of lines without a terminal, in milliseconds
   * @param repeatMs a line that stays the same is written again after this time, in milliseconds. Default: never
   */
  constructor(what: string, target: ProgressTarget, everyMs = 1_000, repeatMs = Infinity) {
    this.#what = what;
    this.#target = target;
    this.#everyMs = everyMs;
    this.#repeatMs = repeatMs;
  }

  /**
   * @param share from 0 to 1; undefined when the total is not known
   * @param text text after the bar
   */
  show(share: number | undefined, text: string): void {
    const line = terminalLine(progressLine(this.#what, share, text));
    const now = performance.now();
    if (line === this.#last && now - this.#lastLineAt < this.#repeatMs) return;
    if (this.#target.isTTY === true) {
      // A line that wraps could not be overwritten.
      const room = (this.#target.columns ?? 80) - 1;
      this.#target.write(`\r\u001B[K${Array.from(line).slice(0, room).join('')}`);
    } else {
      if (now - this.#lastLineAt < this.#everyMs && (share ?? 0) < 1) return;
      this.#target.write(`${line}\n`);
    }
    this.#lastLineAt = now;
    this.#last = line;
  }

  /** Keeps the bar as it is and moves to the next line. */
  end(): void {
    if (this.#target.isTTY === true && this.#last !== '') this.#target.write('\n');
  }
}

/** `importing ████░░ 12 %  text`; without a bar when the total is not known. */
export function progressLine(what: string, share: number | undefined, text: string): string {
  if (share === undefined) return `${what}  ${text}`;
  const bounded = Math.min(1, Math.max(0, share));
  const filled = Math.floor(bounded * BAR_WIDTH);
  const bar = '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled);
  const percent = String(Math.floor(bounded * 100)).padStart(3);
  return `${what} ${bar} ${percent} %  ${text}`;
}

/** One measurement: the amount done at a time. */
interface RateReading {
  readonly at: number;
  readonly done: number;
}

/** Rate of progress over the last seconds, so that changes of speed show soon. */
export class ProgressRate {
  readonly #windowMs: number;
  #readings: RateReading[] = [];

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

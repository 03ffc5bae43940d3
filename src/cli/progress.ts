/** Where a bar is shown. */
export interface ProgressTarget {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

const BAR_WIDTH = 30;

/**
 * A progress bar on a terminal; elsewhere one line an interval at most, so that a log stays readable.
 */
export class ProgressBar {
  readonly #what: string;
  readonly #target: ProgressTarget;
  readonly #everyMs: number;
  #lastLineAt = -Infinity;
  #last = '';

  /**
   * @param what the word before the bar
   * @param everyMs least milliseconds between two lines where there is no terminal
   */
  constructor(what: string, target: ProgressTarget, everyMs = 1_000) {
    this.#what = what;
    this.#target = target;
    this.#everyMs = everyMs;
  }

  /**
   * @param share from 0 to 1; undefined where the end is not known
   * @param text what follows the bar
   */
  show(share: number | undefined, text: string): void {
    const line = progressLine(this.#what, share, text);
    if (line === this.#last) return;
    if (this.#target.isTTY === true) {
      // A line that wraps could not be written over.
      const room = (this.#target.columns ?? 80) - 1;
      this.#target.write(`\r\u001B[K${Array.from(line).slice(0, room).join('')}`);
    } else {
      const now = performance.now();
      if (now - this.#lastLineAt < this.#everyMs && (share ?? 0) < 1) return;
      this.#lastLineAt = now;
      this.#target.write(`${line}\n`);
    }
    this.#last = line;
  }

  /** Leaves the bar as it stands and goes to the next line. */
  end(): void {
    if (this.#target.isTTY === true && this.#last !== '') this.#target.write('\n');
  }
}

/** `importing ████░░ 12 %  text`; without a bar where the end is not known. */
export function progressLine(what: string, share: number | undefined, text: string): string {
  if (share === undefined) return `${what}  ${text}`;
  const bounded = Math.min(1, Math.max(0, share));
  const filled = Math.floor(bounded * BAR_WIDTH);
  const bar = '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled);
  const percent = String(Math.floor(bounded * 100)).padStart(3);
  return `${what} ${bar} ${percent} %  ${text}`;
}

/** So many of something: `1 contact`, `1,234,567 contacts`. */
export function countOf(value: number, word: string): string {
  return `${count(value)} ${word}${value === 1 ? '' : 's'}`;
}

/** A count as people read it: `1,234,567`. */
export function count(value: number): string {
  return value.toLocaleString('en');
}

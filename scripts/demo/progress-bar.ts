/**
 * A progress bar on a terminal; elsewhere one line a second at most, so that a log stays readable.
 */
export class ProgressBar {
  readonly #total: number;
  readonly #what: string;
  readonly #live = process.stdout.isTTY === true;
  #lastLineAt = -Infinity;
  #last = '';

  constructor(what: string, total: number) {
    this.#what = what;
    this.#total = total;
  }

  show(done: number, note: string): void {
    const share = this.#total === 0 ? 1 : Math.min(1, done / this.#total);
    const filled = Math.round(share * 30);
    const bar = '█'.repeat(filled) + '░'.repeat(30 - filled);
    const count = `${done.toLocaleString('en')} of ${this.#total.toLocaleString('en')}`;
    const text = `${this.#what} ${bar} ${String(Math.floor(share * 100)).padStart(3)} %  ${count}  ${note}`;
    if (text === this.#last) return;
    if (this.#live) {
      process.stdout.write(`\r\u001B[K${text}`);
    } else {
      const now = performance.now();
      if (now - this.#lastLineAt < 1_000 && share < 1) return;
      this.#lastLineAt = now;
      process.stdout.write(`${text}\n`);
    }
    this.#last = text;
  }

  end(): void {
    if (this.#live) process.stdout.write('\n');
  }
}

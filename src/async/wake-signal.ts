/**
 * Wakes who waits for somebody else's issuance. A ring between asking Redis and beginning to wait
 * is not lost: the waiter names the count it read before it asked.
 */
export class WakeSignal {
  readonly #sleepers = new Set<() => void>();
  #rings = 0;

  /** Rings so far. */
  get rings(): number {
    return this.#rings;
  }

  ring(): void {
    this.#rings += 1;
    for (const wake of this.#sleepers) wake();
  }

  /** Resolves at the first ring after the `heard` ones, after `ms`, or when the signal aborts. */
  async next(heard: number, ms: number, signal: AbortSignal): Promise<void> {
    if (this.#rings > heard || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#sleepers.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.#sleepers.add(wake);
      signal.addEventListener('abort', wake);
    });
  }
}

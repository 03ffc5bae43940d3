import type { CancelSignal } from '../contracts/token.ts';

/**
 * Wakes everyone who waits for a change that another process makes. A notification between reading
 * Redis and starting to wait is not lost: the waiter passes the count that it read before.
 */
export class WakeSignal {
  readonly #waiters = new Set<() => void>();
  #count = 0;

  /** How many notifications there have been. */
  get count(): number {
    return this.#count;
  }

  /** Wakes all waiters. */
  notify(): void {
    this.#count += 1;
    for (const wake of this.#waiters) wake();
  }

  /** Resolves at the first notification after the first `seen` ones, after `ms`, or on abort. */
  async next(seen: number, ms: number, signal: CancelSignal): Promise<void> {
    if (this.#count > seen || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#waiters.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      this.#waiters.add(wake);
      signal.addEventListener('abort', wake);
    });
  }
}

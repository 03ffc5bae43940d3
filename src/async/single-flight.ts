import { NoticeQueueError } from '../contracts/errors.ts';
import type { CancelSignal } from '../contracts/token.ts';
import { Cancellation, unlessAborted } from './cancellation.ts';

/**
 * One piece of work whose result several callers wait for. Each caller may leave on its own signal
 * without failing the others. When the last one has left, the work is abandoned: its signal is aborted,
 * and it may end early where nothing is at stake.
 */
export class SingleFlight<T extends object> {
  readonly #result: Promise<T>;
  readonly #abandoned = new AbortController();
  #callers = 0;

  /** @param work gets a signal that is aborted when no caller waits for its result any more */
  constructor(work: (abandoned: AbortSignal) => Promise<T>) {
    this.#result = work(this.#abandoned.signal);
    // Each caller gets the failure from join(); without callers it must not be an unhandled rejection.
    this.#result.catch(() => undefined);
  }

  /** True once it is abandoned: the work may be ending, so no further caller may join. */
  get abandoned(): boolean {
    return this.#abandoned.signal.aborted;
  }

  /** Asks the work to end early, although callers may still wait. */
  abandon(): void {
    this.#abandoned.abort();
  }

  /** Resolves when the work has ended, with or without success. */
  async ended(): Promise<void> {
    await this.#result.then(
      () => undefined,
      () => undefined,
    );
  }

  /**
   * Waits for the result.
   *
   * @throws NoticeQueueError TOKEN_UNAVAILABLE when the caller's signal is aborted first
   */
  async join(signal: CancelSignal | undefined): Promise<T> {
    this.#callers += 1;
    try {
      const result = await unlessAborted(this.#result, signal ?? new Cancellation());
      if (result !== undefined) return result;
      throw new NoticeQueueError('TOKEN_UNAVAILABLE', 'No token came in the time of the caller.');
    } finally {
      this.#callers -= 1;
      if (this.#callers === 0) this.#abandoned.abort();
    }
  }
}

/**
 * Wakes everyone who waits for a change that another process makes. A notification between reading
 * Redis and starting to wait is not lost: the waiter passes the count that it read before.
 */
export class WakeSignal {
  readonly #waiters = new Set<() => void>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

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

import type { CancelSignal } from '../contracts/token.ts';

/** Why a deadline fired: its time is over, or the caller gave up. */
export type DeadlineCause = 'timeout' | 'aborted';

/**
 * The total time of one call: it fires when the time is over or the caller gives up, whichever comes
 * first. Measured on the monotonic clock, so changing the wall clock has no effect.
 *
 * axios takes it as a signal. It is no AbortSignal because making one takes 9 µs
 * on Node 20 (docs/decisions.md).
 */
export class Deadline implements CancelSignal {
  readonly #endsAt: number;
  readonly #timer: NodeJS.Timeout;
  readonly #caller: CancelSignal | undefined;
  readonly #listeners: (() => void)[] = [];
  #cause: DeadlineCause | undefined;

  /**
   * @param ms milliseconds from now
   * @param caller the caller's own signal
   */
  constructor(ms: number, caller?: CancelSignal) {
    this.#endsAt = performance.now() + ms;
    this.#timer = setTimeout(() => this.#fire('timeout'), ms);
    this.#caller = caller;
    if (caller?.aborted === true) this.#fire('aborted');
    else caller?.addEventListener('abort', this.#onCallerAbort);
  }

  /** Why it is over, or undefined while it is not. True to the clock also while the event loop is blocked. */
  get cause(): DeadlineCause | undefined {
    if (this.#cause === undefined && performance.now() >= this.#endsAt) return 'timeout';
    return this.#cause;
  }

  /** Whether it has fired. */
  get aborted(): boolean {
    return this.#cause !== undefined;
  }

  /** Calls the listener once, when it fires; a listener that is added later is not called. */
  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.push(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const at = this.#listeners.indexOf(listener);
    if (at >= 0) this.#listeners.splice(at, 1);
  }

  /** Releases the timer and the caller's signal; to be called when the call has ended. */
  close(): void {
    clearTimeout(this.#timer);
    this.#caller?.removeEventListener('abort', this.#onCallerAbort);
  }

  readonly #onCallerAbort = (): void => this.#fire('aborted');

  #fire(cause: DeadlineCause): void {
    if (this.#cause !== undefined) return;
    this.#cause = cause;
    for (const listener of this.#listeners.splice(0)) listener();
  }
}

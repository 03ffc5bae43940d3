/** Why a deadline's signal fired. */
export type DeadlineCause = 'timeout' | 'aborted';

/**
 * The total time of one call: a signal that fires when the time is over or the caller gives up,
 * whichever comes first. Measured on the monotonic clock, so a changed wall clock moves nothing.
 */
export class Deadline {
  readonly signal: AbortSignal;
  readonly #controller = new AbortController();
  readonly #endsAt: number;
  readonly #timer: NodeJS.Timeout;
  readonly #outer: AbortSignal | undefined;
  #cause: DeadlineCause | undefined;

  /**
   * @param ms milliseconds from now
   * @param outer the caller's own signal
   */
  constructor(ms: number, outer?: AbortSignal) {
    this.signal = this.#controller.signal;
    this.#endsAt = performance.now() + ms;
    this.#timer = setTimeout(() => this.#fire('timeout'), ms);
    this.#outer = outer;
    if (outer?.aborted === true) this.#fire('aborted');
    else outer?.addEventListener('abort', this.#onOuterAbort);
  }

  /** Why it is over, or undefined while it is not. A busy event loop may not have fired the signal yet. */
  get cause(): DeadlineCause | undefined {
    if (this.#cause === undefined && performance.now() >= this.#endsAt) return 'timeout';
    return this.#cause;
  }

  /** Milliseconds that are left. */
  get leftMs(): number {
    return Math.max(0, this.#endsAt - performance.now());
  }

  /** Lets go of the timer and the caller's signal; to be called when the call has ended. */
  close(): void {
    clearTimeout(this.#timer);
    this.#outer?.removeEventListener('abort', this.#onOuterAbort);
  }

  readonly #onOuterAbort = (): void => this.#fire('aborted');

  #fire(cause: DeadlineCause): void {
    if (this.#cause !== undefined) return;
    this.#cause = cause;
    this.#controller.abort();
  }
}

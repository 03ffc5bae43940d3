import { NoticeQueueError } from '../contracts/errors.ts';

/**
 * One piece of work that several callers wait for. Each may leave on its own signal without failing
 * the others; when the last one has left, the work is told so, and may end where nothing is at stake.
 */
export class SingleFlight<T> {
  readonly #result: Promise<T>;
  readonly #deserted = new AbortController();
  #callers = 0;

  /** @param work gets a signal that aborts when nobody waits for its result any more */
  constructor(work: (deserted: AbortSignal) => Promise<T>) {
    this.#result = work(this.#deserted.signal);
    // Each caller hears of a failure by itself; with none left there is nobody to tell.
    this.#result.catch(() => undefined);
  }

  /** True once everybody has left: the work may be ending, so nobody joins it any more. */
  get deserted(): boolean {
    return this.#deserted.signal.aborted;
  }

  /** Tells the work to end where nothing is at stake, though callers may still wait. */
  desert(): void {
    this.#deserted.abort();
  }

  /** Resolves when the work has ended, whichever way. */
  async ended(): Promise<void> {
    await this.#result.then(
      () => undefined,
      () => undefined,
    );
  }

  /** @throws NoticeQueueError TOKEN_UNAVAILABLE when the caller's signal aborts first */
  async join(signal: AbortSignal | undefined): Promise<T> {
    if (signal?.aborted === true) throw leftError();
    this.#callers += 1;
    let leave: (() => void) | undefined;
    const left = new Promise<never>((_, reject) => {
      leave = () => reject(leftError());
      signal?.addEventListener('abort', leave, { once: true });
    });
    try {
      return await Promise.race([this.#result, left]);
    } finally {
      if (leave !== undefined) signal?.removeEventListener('abort', leave);
      this.#callers -= 1;
      if (this.#callers === 0) this.#deserted.abort();
    }
  }
}

function leftError(): NoticeQueueError {
  return new NoticeQueueError('TOKEN_UNAVAILABLE', 'No token came within the time of the caller.');
}

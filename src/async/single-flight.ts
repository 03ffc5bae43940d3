import { NoticeQueueError } from '../contracts/errors.ts';
import type { CancelSignal } from '../contracts/token.ts';
import { Cancellation, controllerForMany, pause, unlessAborted } from './cancellation.ts';

interface Flight<T> {
  readonly result: Promise<T>;
  readonly abandoned: AbortController;
  callers: number;
}

/**
 * Pieces of work, each with a key, whose results several callers wait for. Each caller may leave on its own signal without
 * failing the others. When the last one has left, the work is abandoned: its signal is aborted, it may end early where
 * nothing is at stake, and no further caller joins it.
 */
export class SingleFlight<T extends object> {
  readonly #flights = new Map<string, Flight<T>>();

  /**
   * Waits for the result of the work with this key, which starts where it is not under way.
   *
   * @throws NoticeQueueError TOKEN_UNAVAILABLE when the caller's signal is aborted first
   */
  async join(
    key: string,
    work: (abandoned: AbortSignal) => Promise<T>,
    signal: CancelSignal | undefined,
  ): Promise<T> {
    const known = this.#flights.get(key);
    const isOpen = known !== undefined && !known.abandoned.signal.aborted;
    const flight = isOpen ? known : this.#begin(key, work);
    flight.callers += 1;
    try {
      const result = await unlessAborted(flight.result, signal ?? new Cancellation());
      if (result !== undefined) return result;
      throw new NoticeQueueError('TOKEN_UNAVAILABLE', 'No token came in the time of the caller.');
    } finally {
      flight.callers -= 1;
      if (flight.callers === 0) flight.abandoned.abort();
    }
  }

  #begin(key: string, work: (abandoned: AbortSignal) => Promise<T>): Flight<T> {
    const abandoned = new AbortController();
    const flight = { result: work(abandoned.signal), abandoned, callers: 0 };
    this.#flights.set(key, flight);
    const ended = () => {
      if (this.#flights.get(key) === flight) this.#flights.delete(key);
    };
    flight.result.then(ended, ended);
    return flight;
  }

  /** Asks all work to end early, although callers may still wait, and waits until it has ended. */
  async abandonAll(): Promise<void> {
    const flights = [...this.#flights.values()];
    for (const { abandoned } of flights) abandoned.abort();
    await Promise.allSettled(flights.map(({ result }) => result));
  }
}

/**
 * Wakes everyone who waits for a change that another process makes. A notification between reading
 * Redis and starting to wait is not lost: the waiter passes the count that it read before.
 */
export class WakeSignal {
  #next = controllerForMany();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  notify(): void {
    this.#count += 1;
    this.#next.abort();
    this.#next = controllerForMany();
  }

  /** Resolves at the first notification after the first `seen` ones, after `ms`, or on abort. */
  async next(seen: number, ms: number, signal: CancelSignal): Promise<void> {
    if (this.#count === seen) await pause(ms, new Cancellation(signal, this.#next.signal));
  }
}

import type { Waiting } from '../contracts/token.ts';

/**
 * Why a job may have to be given back before it is sent: the process stops, or the job's lock is
 * lost. Asked before each step; a signal of both is made only for those who wait, because joining
 * two of them costs a tenth of a send on Node 20.
 */
export class Cancellation implements Waiting {
  readonly #signals: readonly AbortSignal[];

  /** @param signals the reasons; undefined for one that does not exist */
  constructor(...signals: readonly (AbortSignal | undefined)[]) {
    this.#signals = signals.filter((signal) => signal !== undefined);
  }

  get aborted(): boolean {
    return this.#signals.some(({ aborted }) => aborted);
  }

  get signal(): AbortSignal {
    return AbortSignal.any([...this.#signals]);
  }
}

/** One that gives up as soon as either of two does. */
export class EitherCancellation implements Waiting {
  readonly #one: Waiting;
  readonly #other: Waiting | undefined;

  constructor(one: Waiting, other: Waiting | undefined) {
    this.#one = one;
    this.#other = other;
  }

  get signal(): AbortSignal {
    if (this.#other === undefined) return this.#one.signal;
    return AbortSignal.any([this.#one.signal, this.#other.signal]);
  }
}

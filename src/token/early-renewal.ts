import type { Token } from '../contracts/token.ts';

/** A process's own copy of the token: every send uses it in steady state. */
export interface HeldToken {
  readonly token: Token;
  readonly fence: number;
  /** Monotonic time (performance.now) at which its life ends; Infinity when unknown. */
  readonly usableUntil: number;
  /** Its whole life in milliseconds, for the early renewal; Infinity when unknown. */
  readonly lifeMs: number;
}

/** Longest time of setTimeout; a longer one would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * How long to wait before a token of known life is renewed: until `renewBeforeMs` before its end (at most
 * half its life), and up to a quarter of that later, so that the processes of a fleet do not all ask at
 * once. A token that is already due is renewed soon.
 *
 * @param chance random in [0, 1)
 */
export function earlyRenewalDelay(
  restMs: number,
  lifeMs: number,
  renewBeforeMs: number,
  chance: number,
): number {
  const lead = Math.min(renewBeforeMs, lifeMs / 2);
  const delay = restMs - lead * (1 - chance / 4);
  return delay > 0 ? delay : (restMs * chance) / 4;
}

/**
 * Renews the copy of a process shortly before its known life ends, while it can still be used. An attempt
 * without a result (another process issues, the endpoint failed) is repeated after half of the remaining
 * life; the record in Redis enforces the same for the fleet.
 */
export class EarlyRenewal {
  readonly #renew: (held: HeldToken) => Promise<void>;
  readonly #renewBeforeMs: number;
  readonly #pauseMs: number;
  #held: HeldToken | undefined;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();

  /**
   * @param renew replaces the copy where it can; never rejects
   * @param renewBeforeMs TOKEN_RENEW_BEFORE_MS
   * @param pauseMs shortest time between two attempts
   */
  constructor(renew: (held: HeldToken) => Promise<void>, renewBeforeMs: number, pauseMs: number) {
    this.#renew = renew;
    this.#renewBeforeMs = renewBeforeMs;
    this.#pauseMs = pauseMs;
  }

  /** Schedules the renewal of this copy instead of the one before. */
  arm(held: HeldToken): void {
    this.disarm();
    if (held.usableUntil === Infinity) return;
    this.#held = held;
    const restMs = held.usableUntil - performance.now();
    const delay = earlyRenewalDelay(restMs, held.lifeMs, this.#renewBeforeMs, Math.random());
    this.#wait(held, performance.now() + delay);
  }

  /** Cancels the renewal: the copy is no longer in use. */
  disarm(): void {
    clearTimeout(this.#timer);
    this.#held = undefined;
  }

  /** Resolves when no renewal is in progress. */
  async ended(): Promise<void> {
    await this.#running;
  }

  #wait(held: HeldToken, due: number): void {
    const delay = Math.min(Math.max(0, due - performance.now()), LONGEST_TIMER_MS);
    this.#timer = setTimeout(() => {
      if (performance.now() < due) this.#wait(held, due);
      else this.#running = this.#attempt(held);
    }, delay);
    this.#timer.unref();
  }

  async #attempt(held: HeldToken): Promise<void> {
    await this.#renew(held);
    if (this.#held !== held) return;
    const rest = held.usableUntil - performance.now();
    const pause = Math.max(this.#pauseMs, rest / 2);
    if (pause < rest) this.#wait(held, performance.now() + pause);
  }
}

import { pause, signal, type Signal } from '../../async/cancellation.ts';
import type { HoldKind } from '../../contracts/hold.ts';
import type { ProbeLimits } from './trouble.ts';

export interface Aside {
  readonly hold: HoldKind;
  readonly code: string;
  readonly forMs: number;
}

/**
 * A process whose requests led to the hold leaves the next probe to others for so long: it may be alone in trouble.
 * And jobs that a held template refused leave its probes to those that were not tried. In milliseconds.
 */
export const OTHERS_FIRST_MS = 500;

/**
 * Whether a process may be in trouble alone: it has no connection, or another key pair.
 *
 * - usual -> doubted: it placed the hold, or a probe of it failed.
 * - usual -> aside: it would place the hold, but no request of it was ever accepted, and those of others were recently.
 * - doubted -> usual: a request of it is accepted, or it lifted the hold itself.
 * - doubted -> on trial: another process has lifted the hold. It makes one attempt at a time.
 * - on trial -> aside: that attempt meets trouble. It takes no jobs for a time that doubles, and places no hold.
 * - aside -> on trial: that time is over, or a hold was lifted.
 */
export class OwnTrouble {
  readonly #limits: ProbeLimits;
  readonly #onAside: (aside: Aside | undefined) => void;
  #isDoubted = false;
  #wasAccepted = false;
  #asides = 0;
  #timer: NodeJS.Timeout | undefined;
  #trial: Signal | undefined;
  /** By the monotonic clock. */
  #othersUntil = -Infinity;

  /** @param onAside called when it steps aside, and with nothing when it does so no longer */
  constructor(limits: ProbeLimits, onAside: (aside: Aside | undefined) => void) {
    this.#limits = limits;
    this.#onAside = onAside;
  }

  get isDoubted(): boolean {
    return this.#isDoubted;
  }

  get isAside(): boolean {
    return this.#timer !== undefined;
  }

  /** Whether a request of it was ever accepted. */
  get wasAccepted(): boolean {
    return this.#wasAccepted;
  }

  /** It placed the hold, or a probe of it failed. @param restMs until the next probe is due */
  doubt(restMs: number): void {
    this.#isDoubted = true;
    this.#othersUntil = performance.now() + Math.max(0, restMs) + OTHERS_FIRST_MS;
  }

  /** The hold is over. @param lifter id of the process that lifted it; empty where that is not known */
  holdEnded(lifter: string, own: string): void {
    if (this.#asides === 0 && (lifter === own || lifter === '')) this.#isDoubted = false;
  }

  accepted(): void {
    this.#isDoubted = false;
    this.#wasAccepted = true;
    this.#asides = 0;
    this.#othersUntil = -Infinity;
    this.#endTrial();
    this.return();
  }

  stepAside(trouble: Omit<Aside, 'forMs'>, leastMs: number): void {
    this.#isDoubted = true;
    const { minMs, maxMs } = this.#limits;
    const doubledMs = Math.min(maxMs, minMs * 2 ** Math.min(++this.#asides, 20));
    const aside = { ...trouble, forMs: Math.max(doubledMs, leastMs) };
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.return(), aside.forMs);
    this.#onAside(aside);
    this.#endTrial();
  }

  return(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#onAside(undefined);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Waits while the probe is left to other processes. */
  async othersFirst(): Promise<void> {
    const restMs = this.#othersUntil - performance.now();
    if (restMs > 0) await pause(Math.min(restMs, OTHERS_FIRST_MS));
  }

  /** @returns whether the caller makes the trial; false after another one has ended: ask again */
  async trial(): Promise<boolean> {
    if (this.#trial === undefined) {
      this.#trial = signal();
      return true;
    }
    await this.#trial.given;
    return false;
  }

  /** A trial that neither failed nor was accepted: another attempt takes its place. */
  trialEnded(): void {
    this.#endTrial();
  }

  #endTrial(): void {
    this.#trial?.give();
    this.#trial = undefined;
  }
}

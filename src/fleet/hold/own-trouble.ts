import { pause } from '../../async/cancellation.ts';
import type { HoldKind } from '../../contracts/hold.ts';
import type { ProbeLimits } from './hold-scripts.ts';

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
 * Whether a process is in trouble alone: it has no connection, or another key pair.
 *
 * - usual -> in trouble: it placed the hold, a request of it failed while that was in effect, or its key pair was refused
 *   before it started.
 * - in trouble -> alone: another process has lifted that hold.
 * - in trouble, alone -> usual: a request of it is accepted.
 *
 * One that is alone places no hold. It steps aside instead: it takes no jobs for a time that doubles, or until a hold is
 * lifted. So does one of which no request was ever accepted, while those of others are.
 */
export class OwnTrouble {
  readonly #limits: ProbeLimits;
  readonly #onAside: (aside: Aside | undefined) => void;
  #state: 'usual' | 'in trouble' | 'alone' = 'usual';
  #wasAccepted = false;
  #asides = 0;
  #timer: NodeJS.Timeout | undefined;
  /** By the monotonic clock. */
  #othersUntil = -Infinity;

  /** @param onAside called when it steps aside, and with nothing when it does so no longer */
  constructor(limits: ProbeLimits, onAside: (aside: Aside | undefined) => void) {
    this.#limits = limits;
    this.#onAside = onAside;
  }

  get isAside(): boolean {
    return this.#timer !== undefined;
  }

  async isAlone(othersAccepted: () => Promise<boolean>): Promise<boolean> {
    return this.#state === 'alone' || (!this.#wasAccepted && (await othersAccepted()));
  }

  /** It placed the hold, or a request of it failed meanwhile. @param restMs until the next probe is due */
  inTrouble(restMs: number): void {
    if (this.#state === 'usual') this.#state = 'in trouble';
    this.leaveProbe(Math.max(0, restMs));
  }

  /** Leaves the next probe to others while it is in trouble. @param restMs until that probe is due */
  leaveProbe(restMs: number): void {
    if (this.#state === 'usual') return;
    const until = performance.now() + restMs + OTHERS_FIRST_MS;
    this.#othersUntil = Math.max(this.#othersUntil, until);
  }

  othersLifted(): void {
    if (this.#state === 'in trouble') this.#state = 'alone';
  }

  accepted(): void {
    this.#state = 'usual';
    this.#wasAccepted = true;
    this.#asides = 0;
    this.#othersUntil = -Infinity;
    this.return();
  }

  stepAside(trouble: Omit<Aside, 'forMs'>, leastMs: number): void {
    const { minMs, maxMs } = this.#limits;
    const doubledMs = Math.min(maxMs, minMs * 2 ** Math.min(++this.#asides, 20));
    const aside = { ...trouble, forMs: Math.max(doubledMs, leastMs) };
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.return(), aside.forMs);
    this.#onAside(aside);
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

  async othersFirst(): Promise<void> {
    const restMs = this.#othersUntil - performance.now();
    if (restMs > 0) await pause(Math.min(restMs, OTHERS_FIRST_MS));
  }
}

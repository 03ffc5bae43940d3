import type { CancelSignal } from '../../contracts/cancel-signal.ts';
import { REACH_MS } from './rate-limit-scripts.ts';

/**
 * A slot may be used for so long from its time on, in milliseconds. Longer would let a process save
 * slots and use them all at once; shorter would waste those of a process that was busy for a moment.
 */
export const PERMIT_LASTS_MS = 200;

/** The two lanes of a worker process. */
export type LaneName = 'notices' | 'chunks';

/** Leave to make one request, now. */
export interface Permit {
  /** Uses it up; false where it was used before or has become too old: take another one. */
  use(): boolean;
  /** Gives it back unused, to whoever waits; does nothing where it was used. */
  release(): void;
}

interface Waiter {
  readonly deadline: number;
  readonly settle: (until: number | undefined) => void;
}

/**
 * The line of a process in front of its slots: jobs wait here, and each slot goes to one of them when
 * its time has come. A slot that nobody used in time is gone.
 *
 * Where both lanes wait they take turns, so that a notice does not stand behind a batch, nor a batch
 * behind notices. Who has waited for {@link REACH_MS}, and has no slot in sight, is turned away.
 */
export class PermitQueue {
  readonly #lanes: Readonly<Record<LaneName, Waiter[]>> = { notices: [], chunks: [] };
  readonly #onWant: () => void;
  readonly #onUse: () => void;
  /** Times of slots that were handed to this process, ascending. */
  #slots: number[] = [];
  #turn: LaneName = 'notices';
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param onWant called when somebody waits and there is no slot left: fetch some
   * @param onUse called with each slot that is used
   */
  constructor(onWant: () => void, onUse: () => void) {
    this.#onWant = onWant;
    this.#onUse = onUse;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#lanes.notices.length + this.#lanes.chunks.length;
  }

  /** Waits for a slot; undefined when it was turned away or `abort` is aborted. */
  join(lane: LaneName, abort: CancelSignal): Promise<Permit | undefined> {
    if (abort.aborted) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const waiters = this.#lanes[lane];
      const leave = () => {
        const index = waiters.indexOf(waiter);
        if (index !== -1) waiters.splice(index, 1);
        waiter.settle(undefined);
      };
      const waiter: Waiter = {
        deadline: performance.now() + REACH_MS,
        settle: (until) => {
          abort.removeEventListener('abort', leave);
          resolve(until === undefined ? undefined : this.slot(until));
        },
      };
      abort.addEventListener('abort', leave);
      waiters.push(waiter);
      this.#deal();
    });
  }

  /** A slot that may be used at once, until then by the monotonic clock. */
  slot(until: number): Permit {
    let left = true;
    return {
      use: () => {
        if (!left || performance.now() > until) return false;
        left = false;
        this.#onUse();
        return true;
      },
      release: () => {
        if (!left) return;
        left = false;
        // A slot without an end is no slot of the line: nothing limits.
        if (until === Infinity) return;
        this.#slots.unshift(until - PERMIT_LASTS_MS);
        this.#deal();
      },
    };
  }

  /** Takes in what was handed to this process. */
  stock({ firstInMs, gapMs, count }: { firstInMs: number; gapMs: number; count: number }): void {
    const first = performance.now() + firstInMs;
    for (let index = 0; index < count; index++) this.#slots.push(first + index * gapMs);
    this.#deal();
  }

  /** Nothing limits (any more): everybody may go. */
  letAllGo(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) next.settle(Infinity);
    this.#deal();
  }

  /** Turns everybody away who waits. */
  turnAway(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) next.settle(undefined);
    this.#deal();
  }

  #deal(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const now = performance.now();
    this.#slots = this.#slots.filter((at) => at + PERMIT_LASTS_MS > now);
    while (this.waiting > 0 && this.#slots[0] !== undefined && this.#slots[0] <= now) {
      this.#next()?.settle((this.#slots.shift() ?? now) + PERMIT_LASTS_MS);
    }
    this.#turnAwayLate(now);
    if (this.waiting === 0) return;
    const dueAt = Math.min(this.#slots[0] ?? Infinity, this.#earliestDeadline());
    // Node may ring a little early; then it looks again.
    this.#timer = setTimeout(() => this.#deal(), Math.max(1, Math.ceil(dueAt - now)));
    if (this.#slots.length === 0) this.#onWant();
  }

  #turnAwayLate(now: number): void {
    for (const waiters of Object.values(this.#lanes)) {
      while (this.waiting > this.#slots.length && (waiters[0]?.deadline ?? Infinity) <= now) {
        waiters.shift()?.settle(undefined);
      }
    }
  }

  /** Of those who may be turned away: who has a slot in sight stays. */
  #earliestDeadline(): number {
    if (this.waiting <= this.#slots.length) return Infinity;
    const deadlines = Object.values(this.#lanes).map((waiters) => waiters[0]?.deadline ?? Infinity);
    return Math.min(...deadlines);
  }

  #next(): Waiter | undefined {
    const { notices, chunks } = this.#lanes;
    const turn = this.#turn;
    const other: LaneName = turn === 'notices' ? 'chunks' : 'notices';
    const lane = this.#lanes[turn].length > 0 ? turn : other;
    this.#turn = lane === 'notices' ? 'chunks' : 'notices';
    return (lane === 'notices' ? notices : chunks).shift();
  }
}

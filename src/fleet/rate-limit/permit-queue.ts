import type { LaneName } from '../../contracts/outcome.ts';
import type { CancelSignal } from '../../contracts/token.ts';
import { REACH_MS } from './rate-limit-scripts.ts';

/**
 * How long a permit is valid, in milliseconds. With a longer time a process could save permits and use
 * them all at once; with a shorter one a process that was busy for a moment would waste its permits.
 */
export const PERMIT_LASTS_MS = 200;

/** Permission to make one request, now. */
export interface Permit {
  /** Uses the permit; false when it was used before or has expired: take another one. */
  use(): boolean;
  /** Returns the unused permit to the queue, for the next waiter; does nothing after `use`. */
  release(): void;
}

interface Waiter {
  readonly deadline: number;
  readonly settle: (until: number | undefined) => void;
}

/**
 * The permits of one process and the queue of jobs that wait for them. Each permit goes to one waiter
 * when its time has come, and expires unused after {@link PERMIT_LASTS_MS}.
 *
 * The lanes take turns, so that neither notices nor chunks wait for the other lane to drain. A waiter for
 * which there is no permit within {@link REACH_MS} is rejected.
 */
export class PermitQueue {
  readonly #lanes: Readonly<Record<LaneName, Waiter[]>> = { notices: [], chunks: [] };
  readonly #onEmpty: () => void;
  readonly #onUse: () => void;
  /** Start times of the permits of this process, ascending. */
  #permits: number[] = [];
  #turn: LaneName = 'notices';
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param onEmpty called when a job waits and no permit is left: fetch some
   * @param onUse called with each permit that is used
   */
  constructor(onEmpty: () => void, onUse: () => void) {
    this.#onEmpty = onEmpty;
    this.#onUse = onUse;
  }

  /** How many jobs wait. */
  get waiting(): number {
    return this.#lanes.notices.length + this.#lanes.chunks.length;
  }

  /** Waits for a permit; undefined when it is rejected or cancelled. */
  join(lane: LaneName, cancel: CancelSignal): Promise<Permit | undefined> {
    if (cancel.aborted) return Promise.resolve(undefined);
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
          cancel.removeEventListener('abort', leave);
          resolve(until === undefined ? undefined : this.permit(until));
        },
      };
      cancel.addEventListener('abort', leave);
      waiters.push(waiter);
      this.#assign();
    });
  }

  /** A permit that is valid from now until a time of the monotonic clock. */
  permit(until: number): Permit {
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
        // A permit that never expires was not taken from the queue: there is no limit.
        if (until === Infinity) return;
        this.#permits.unshift(until - PERMIT_LASTS_MS);
        this.#assign();
      },
    };
  }

  /** Adds permits that Redis issued to this process. */
  add({ firstInMs, gapMs, count }: { firstInMs: number; gapMs: number; count: number }): void {
    const first = performance.now() + firstInMs;
    for (let index = 0; index < count; index++) this.#permits.push(first + index * gapMs);
    this.#assign();
  }

  /** There is no limit: gives every waiter a permit. */
  admitAll(): void {
    this.#settleAll(Infinity);
  }

  /** Rejects every waiter. */
  rejectAll(): void {
    this.#settleAll(undefined);
  }

  #settleAll(until: number | undefined): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) next.settle(until);
    this.#assign();
  }

  #assign(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const now = performance.now();
    this.#permits = this.#permits.filter((at) => at + PERMIT_LASTS_MS > now);
    while (this.waiting > 0 && this.#permits[0] !== undefined && this.#permits[0] <= now) {
      this.#next()?.settle((this.#permits.shift() ?? now) + PERMIT_LASTS_MS);
    }
    this.#rejectLate(now);
    if (this.waiting === 0) return;
    const dueAt = Math.min(this.#permits[0] ?? Infinity, this.#earliestDeadline());
    // A timer of Node may fire a little early; then this runs again.
    this.#timer = setTimeout(() => this.#assign(), Math.max(1, Math.ceil(dueAt - now)));
    if (this.#permits.length === 0) this.#onEmpty();
  }

  #rejectLate(now: number): void {
    for (const waiters of Object.values(this.#lanes)) {
      while (this.waiting > this.#permits.length && (waiters[0]?.deadline ?? Infinity) <= now) {
        waiters.shift()?.settle(undefined);
      }
    }
  }

  /** Of the waiters that may be rejected; those with a permit ahead keep waiting. */
  #earliestDeadline(): number {
    if (this.waiting <= this.#permits.length) return Infinity;
    const deadlines = Object.values(this.#lanes).map((waiters) => waiters[0]?.deadline ?? Infinity);
    return Math.min(...deadlines);
  }

  #next(): Waiter | undefined {
    const turn = this.#turn;
    const other: LaneName = turn === 'notices' ? 'chunks' : 'notices';
    const lane = this.#lanes[turn].length > 0 ? turn : other;
    this.#turn = lane === 'notices' ? 'chunks' : 'notices';
    return this.#lanes[lane].shift();
  }
}

/** Resolution of the counts, and how many steps are kept. */
const STEP_MS = 100;
const STEPS = 60;

/** The period that {@link SendRate.perSecond} measures. */
const WINDOW_MS = 5_000;

/** A shorter time gives no rate: the jobs that wait for a worker all start at once. */
const LEAST_MS = 1_000;

/** Measures the recent send rate of this process with one counter per step. */
export class SendRate {
  readonly #counts = new Float64Array(STEPS);
  readonly #steps = new Float64Array(STEPS).fill(-Infinity);

  /** Counts one send. @param at milliseconds of a monotonic clock */
  count(at: number): void {
    const step = Math.floor(at / STEP_MS);
    const index = step % STEPS;
    if (this.#steps[index] !== step) {
      this.#steps[index] = step;
      this.#counts[index] = 0;
    }
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
  }

  /**
   * Sends per second: those of the last five seconds, divided by the time since the first of them; 0 while
   * that is less than a second ago.
   */
  perSecond(at: number): number {
    const { total, first } = this.#since(at, WINDOW_MS);
    const spanMs = at - first * STEP_MS;
    return spanMs < LEAST_MS ? 0 : (total * 1_000) / spanMs;
  }

  /** Number of sends in the last second. */
  lastSecond(at: number): number {
    return this.#since(at, 1_000).total;
  }

  #since(at: number, windowMs: number): { total: number; first: number } {
    const now = Math.floor(at / STEP_MS);
    const oldest = now - windowMs / STEP_MS;
    let [total, first] = [0, now];
    for (const [index, step] of this.#steps.entries()) {
      if (step < oldest || step > now) continue;
      total += this.#counts[index] ?? 0;
      first = Math.min(first, step);
    }
    return { total, first };
  }
}

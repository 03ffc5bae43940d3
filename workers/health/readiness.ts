/**
 * Why a worker process is not ready.
 *
 * - `redis-away`: no connection to Redis, or no answer for longer than a heartbeat.
 * - `redis-unsuitable`: Redis would lose notices (suitability.ts); no further jobs are taken.
 * - `copy-unchecked`: Redis came back and may hold an old copy; nothing is sent until that is known.
 * - `stalled`: jobs wait, nothing holds them, and this worker takes none.
 * - `event-loop`: the process did nothing but one thing for a second or more.
 * - `stopping`: it was told to stop.
 *
 * A hold is none of them: it concerns the queue, and no worker.
 */
export type UnreadyReason =
  'redis-away' | 'redis-unsuitable' | 'copy-unchecked' | 'stalled' | 'event-loop' | 'stopping';

/** A reason, and since when, in milliseconds since the epoch by the clock of this machine. */
export interface Unready {
  readonly reason: UnreadyReason;
  readonly since: number;
}

/** Whether a worker process is ready: it is while there is no reason against it. */
export interface Readiness {
  /** The longest first. */
  reasons(): readonly Unready[];
}

/** Collects the reasons from whoever watches. */
export class UnreadyReasons implements Readiness {
  readonly #since = new Map<UnreadyReason, number>();
  readonly #now: () => number;

  /** @param now the clock, for tests */
  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Says whether the reason holds. Saying it again changes nothing. */
  set(reason: UnreadyReason, holds: boolean): void {
    if (!holds) this.#since.delete(reason);
    else if (!this.#since.has(reason)) this.#since.set(reason, this.#now());
  }

  reasons(): readonly Unready[] {
    return [...this.#since].map(([reason, since]) => ({ reason, since }));
  }
}

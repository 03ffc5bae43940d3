/**
 * Why a worker process is not ready.
 *
 * - `redis-away`: no connection to Redis, or no answer for longer than a heartbeat.
 * - `redis-unsuitable`: Redis could lose notices (suitability.ts); no further jobs are taken.
 * - `copy-unchecked`: Redis reconnected and may contain an old copy; nothing is sent until that is known.
 * - `event-loop`: the event loop was blocked for a second or more.
 * - `payload-key`: it met jobs whose contacts, or a do-not-send list whose key, are encrypted with a key that it does not
 *   have; without any key of the account it takes no jobs with such contacts. Set PAYLOAD_KEY, or PAYLOAD_KEY_PREVIOUS during a change of the key.
 * - `alone`: its requests fail, and those of other workers do not: it has another key pair or address, or no connection. It
 *   takes no jobs for a time, and tries again (hold-gate.ts). Compare it with a worker that sends.
 * - `stopping`: it is shutting down.
 *
 * A hold is not a reason: it concerns the queue, not the worker.
 */
export type UnreadyReason =
  | 'redis-away'
  | 'redis-unsuitable'
  | 'copy-unchecked'
  | 'event-loop'
  | 'payload-key'
  | 'alone'
  | 'stopping';

/** A reason why a process cannot take and send jobs. */
export interface Unready {
  /** An {@link UnreadyReason}, or that it is starting, for people. */
  readonly reason: string;
  /** Since when: milliseconds since the epoch by the clock of this machine. */
  readonly since: number;
}

export interface Readiness {
  /** Oldest first; empty when it is ready. */
  reasons(): readonly Unready[];
}

export class UnreadyReasons implements Readiness {
  readonly #since = new Map<UnreadyReason, number>();
  /** When reasons that were reported for a time end. */
  readonly #until = new Map<UnreadyReason, number>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Sets whether the reason applies. Repeating a value changes nothing. */
  set(reason: UnreadyReason, holds: boolean): void {
    if (!holds) this.#since.delete(reason);
    else if (!this.#since.has(reason)) this.#since.set(reason, this.#now());
  }

  /** Reports that the reason applies now; it ends `forMs` milliseconds after the last report. */
  report(reason: UnreadyReason, forMs: number): void {
    this.#removeEnded();
    this.set(reason, true);
    this.#until.set(reason, this.#now() + forMs);
  }

  reasons(): readonly Unready[] {
    this.#removeEnded();
    return [...this.#since].map(([reason, since]) => ({ reason, since }));
  }

  #removeEnded(): void {
    const now = this.#now();
    for (const [reason, until] of this.#until) {
      if (until > now) continue;
      this.#until.delete(reason);
      this.set(reason, false);
    }
  }
}

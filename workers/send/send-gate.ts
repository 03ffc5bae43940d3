import type { Outcome } from '../../src/contracts/outcome.ts';
import type { HoldGate, Passage } from '../../src/fleet/hold/hold-gate.ts';
import type { RateLimiter } from '../../src/fleet/rate-limit/rate-limiter.ts';
import type { AttemptLog } from './attempt-log.ts';

/** Shortest hold after a 429, whatever its Retry-After says. */
const THROTTLED_MIN_MS = 1_000;

/** What decides whether attempts may be made. */
export interface SendGateOptions {
  /** Whether this worker takes no jobs, because Redis is unsuitable for the queue. */
  readonly isSuspended: () => boolean;
  /** Whether Redis has everything this worker remembers, i.e. is not an old copy (restore-guard.ts). */
  readonly isComplete: () => Promise<boolean>;
  readonly holds: Pick<HoldGate, 'enter' | 'place'>;
  readonly rateLimiter: Pick<RateLimiter, 'throttled'>;
  readonly log: Pick<AttemptLog, 'trouble'>;
}

/** Lets attempts begin, and places or lifts holds by their outcomes. A failing Redis sends nothing. */
export class SendGate {
  readonly #options: SendGateOptions;

  constructor(options: SendGateOptions) {
    this.#options = options;
  }

  /** Leave to make one attempt; undefined while the worker is suspended or the queue is held. */
  async enter(): Promise<Passage | undefined> {
    const { isSuspended, isComplete, holds, log } = this.#options;
    try {
      if (isSuspended() || !(await isComplete())) return undefined;
      return await holds.enter();
    } catch (error) {
      log.trouble('gate', error);
      return undefined;
    }
  }

  /**
   * Places or lifts holds after an attempt, and lowers the rate limit after a 429. A failing Redis costs
   * a probe here, never an outcome.
   *
   * @param outcome undefined where nothing was sent and no notice is to blame
   */
  async leave(outcome: Outcome | undefined, passage: Passage): Promise<void> {
    const { holds, rateLimiter, log } = this.#options;
    try {
      switch (outcome?.kind) {
        case 'hold': {
          const { hold, code, forMs } = outcome;
          const least = hold === 'throttled' ? THROTTLED_MIN_MS : 1;
          const ms = forMs === undefined ? undefined : Math.max(forMs, least);
          await holds.place(hold, code, passage, ms);
          if (hold === 'throttled') await rateLimiter.throttled();
          break;
        }
        case 'accepted':
        case 'rejected':
          await passage.succeeded();
          break;
        case 'retry':
        case 'unknown':
          await passage.undecided();
          break;
        case 'expired':
        case 'cancelled':
        case undefined:
          await passage.abandoned();
          break;
      }
    } catch (error) {
      log.trouble('hold', error);
    }
  }
}

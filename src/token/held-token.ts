import type { Token } from '../contracts/token.ts';
import type { StoredToken } from './acquire-decision.ts';

/** A process's own copy of the token: what every send uses in steady state. */
export interface HeldToken {
  readonly token: Token;
  readonly fence: number;
  /** A call with it was accepted once, and the fleet knows. */
  readonly proven: boolean;
  /** Monotonic time (performance.now) at which its life ends; Infinity where that is not known. */
  readonly usableUntil: number;
  /** Its whole life, for the early renewal; Infinity where that is not known. */
  readonly lifeMs: number;
}

/**
 * @param asOf monotonic time from before the slot was asked, so that the life is never overrated
 */
export function holdStored(stored: StoredToken, token: Token, asOf: number): HeldToken {
  const restMs = stored.restMs ?? Infinity;
  return {
    token,
    fence: stored.fence,
    proven: stored.proven,
    usableUntil: asOf + restMs,
    lifeMs: Math.max(0, stored.ageMs) + restMs,
  };
}

import type { RefusalStatus } from '../contracts/token.ts';

/** Settings of the shared token. Times are milliseconds. The token part of the configuration fits. */
export interface TokenSettings {
  /**
   * Lifetime of the lock around an issuance. Default 15,000. Lower: a dead holder is replaced sooner.
   * Higher: a slow token endpoint gets more time.
   */
  readonly lockTtlMs: number;
  /** Longest time of an issuance, from before the lock. Default 10,000; well below the lock's lifetime. */
  readonly issueDeadlineMs: number;
  /**
   * A token younger than this that is answered 401 is tried once more before another is issued: some
   * nodes of the service may not know it yet. Default 1,000.
   */
  readonly graceMs: number;
  /**
   * The same after a 403, which the request itself may have caused: the shortest interval between
   * issuances that refused requests cause. Default 10,000.
   */
  readonly minAgeMs: number;
  /** Maximum number of issuances of the fleet per window. Default 400. */
  readonly budget: number;
  /** Length of that window. Default 3,600,000. */
  readonly budgetWindowMs: number;
  /** How long the first refusal of an issuance is in effect; each further one doubles it. Default 2,000. */
  readonly refusedMinMs: number;
  /** Longest such time. Default 60,000. */
  readonly refusedMaxMs: number;
  /** Renews a token of known life this long before its end, at most half its life. Default 60,000. */
  readonly renewBeforeMs: number;
}

/** Age below which a refused token is tried once more instead of being replaced. */
export function graceAfter(status: RefusalStatus, settings: TokenSettings): number {
  return status === 403 ? settings.minAgeMs : settings.graceMs;
}

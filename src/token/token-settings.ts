import type { RefusalStatus } from '../contracts/token.ts';

/** How the token slot behaves. Times are milliseconds. The configuration's token part fits it. */
export interface TokenSettings {
  /**
   * Life of the lock around an issuance. Default 15,000. Lower: a dead holder is replaced sooner.
   * Higher: a slow token endpoint is waited for.
   */
  readonly lockTtlMs: number;
  /** Time an issuance may take, counted from before the lock. Default 10,000; well inside the lock. */
  readonly issueDeadlineMs: number;
  /**
   * A token younger than this that is answered 401 is tried once more before another is issued: the
   * nodes of the service may learn of it late. Default 1,000.
   */
  readonly graceMs: number;
  /**
   * The same after a 403, which may be the request's own fault: lowest distance between issuances
   * that refused requests bring on. Default 10,000.
   */
  readonly minAgeMs: number;
  /** Issuances the fleet allows itself per window. Default 400. */
  readonly budget: number;
  /** Length of that window. Default 3,600,000. */
  readonly budgetWindowMs: number;
  /** How long the first refusal of an issuance is remembered; each further one doubles it. Default 2,000. */
  readonly refusedMinMs: number;
  /** Longest such memory. Default 60,000. */
  readonly refusedMaxMs: number;
  /** Renew a token of known life this long before its end, at most half its life. Default 60,000. */
  readonly renewBeforeMs: number;
}

/** Age below which a refused token is tried once more instead of being replaced. */
export function graceAfter(status: RefusalStatus, settings: TokenSettings): number {
  return status === 403 ? settings.minAgeMs : settings.graceMs;
}

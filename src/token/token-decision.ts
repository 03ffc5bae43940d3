import { ERROR_CODES, type ErrorCode, type TokenRefusedError } from '../contracts/errors.ts';

/** Settings of the shared token (config/variables/token.ts explains them). Times are milliseconds. */
export interface TokenSettings {
  readonly lockTtlMs: number;
  /** Longest time of an issuance, from before the lock; well below the lock's lifetime. */
  readonly issueDeadlineMs: number;
  readonly graceMs: number;
  readonly minAgeMs: number;
  readonly budget: number;
  readonly budgetWindowMs: number;
  readonly refusedMinMs: number;
  readonly refusedMaxMs: number;
  readonly renewBeforeMs: number;
}

/** What a caller asks the record for: a token other than `refused`. */
export interface TokenWant {
  /** Id of the refused token; '' where any token will do. */
  readonly refused: string;
  /** A token younger than this is tried once more. */
  readonly graceMs: number;
  /** Status and code of a refusal that may not be of the token; '' for any other want. */
  readonly refusal: string;
  /** Not for a send: the token is about to expire. */
  readonly early: boolean;
}

/** No token was reported refused: any token will do. */
export const ANY: TokenWant = { refused: '', graceMs: 0, refusal: '', early: false };

/** A token as it is stored in Redis. Times are relative, so that no two clocks are compared. */
export interface StoredToken {
  readonly id: string;
  readonly sealed: string;
  readonly fence: number;
  readonly ageMs: number;
  /** Its remaining life; absent when the service does not report it. */
  readonly restMs?: number;
}

/** The decision about a want; one script decides and takes the lock. */
export type AcquireDecision =
  /**
   * The stored token, and nothing is issued: it is not the refused one (take); it is, but within the grace time (young);
   * it is, and a token was issued for such a refusal before (keep).
   */
  | { readonly kind: 'take' | 'young' | 'keep'; readonly stored: StoredToken }
  /** No issuance now, since one was refused; `fresh` when this call caused it. */
  | {
      readonly kind: 'refused';
      readonly code: string;
      readonly restMs: number;
      readonly fresh: boolean;
    }
  /** Another process issues; its lock lasts at most `restMs`. */
  | { readonly kind: 'wait'; readonly restMs: number }
  /** Too early for an early renewal. */
  | { readonly kind: 'later' }
  /** The caller has the lock and this fence: issue. */
  | { readonly kind: 'lock'; readonly fence: number };

/** An event for logs and metrics. No event contains a token; times are milliseconds. */
export type TokenEvent =
  /** This process issued a token. `stored` is false when a newer one was stored meanwhile. */
  | {
      readonly kind: 'issued';
      readonly id: string;
      readonly fence: number;
      readonly ms: number;
      readonly early: boolean;
      readonly stored: boolean;
    }
  /** This process's issuance failed; it, or the whole fleet, issues again after `retryInMs`. */
  | {
      readonly kind: 'refused';
      readonly hold: TokenRefusedError['hold'];
      readonly code: ErrorCode;
      readonly retryInMs: number;
    }
  /** The budget is spent: no issuance for `retryInMs`. */
  | { readonly kind: 'contested'; readonly retryInMs: number }
  /** Another process issued, and this one waited for it. */
  | { readonly kind: 'waited'; readonly ms: number }
  /** A refused token is within the grace time and is tried once more. */
  | { readonly kind: 'young'; readonly id: string; readonly ageMs: number }
  /** An early renewal failed; the current token stays in use. */
  | { readonly kind: 'early-renewal-failed'; readonly code: ErrorCode };

/** Codes of an issuance that was refused for the caller (service-api, Errors; a bare 401 or 403). */
const CREDENTIALS: ReadonlySet<ErrorCode> = new Set([
  'INVALID_ACCESS_KEY',
  'ACCESS_KEY_NOT_APPROVED',
  'IP_NOT_ALLOWED',
  'SERVICE_REFUSED',
]);

/** The hold that a failed issuance causes. */
export function holdOf(code: ErrorCode): TokenRefusedError['hold'] {
  if (code === 'TOKEN_CONTESTED') return 'token-contested';
  return CREDENTIALS.has(code) ? 'credentials' : 'token-unavailable';
}

/** A stored code; an unknown one counts as an endpoint that failed. */
export function codeOf(text: string): ErrorCode {
  const isKnown = (code: string): code is ErrorCode => Object.hasOwn(ERROR_CODES, code);
  return isKnown(text) ? text : 'TOKEN_UNAVAILABLE';
}

import type { ErrorCode, TokenRefusedError } from '../contracts/errors.ts';

/** What the slot tells logs and metrics. No event carries a token; times are milliseconds. */
export type TokenEvent =
  /** This process issued a token. `stored` is false where a newer one was stored meanwhile. */
  | {
      readonly kind: 'issued';
      readonly id: string;
      readonly fence: number;
      readonly ms: number;
      readonly early: boolean;
      readonly stored: boolean;
    }
  /** This process's issuance failed; the fleet waits so long before the next. */
  | {
      readonly kind: 'refused';
      readonly hold: TokenRefusedError['hold'];
      readonly code: ErrorCode;
      readonly retryInMs: number;
    }
  /** Tokens die unused, or the budget is spent: no issuance for so long. */
  | { readonly kind: 'contested'; readonly retryInMs: number }
  /** Another process issued, and this one waited for it. */
  | { readonly kind: 'waited'; readonly ms: number }
  /** A refused token was too young to be replaced, and is tried once more. */
  | { readonly kind: 'young'; readonly id: string; readonly ageMs: number }
  /** The stored token cannot be opened with this process's key: it is replaced. */
  | { readonly kind: 'unreadable'; readonly id: string }
  /** An early renewal failed; the token in use stays in use. */
  | { readonly kind: 'early-renewal-failed'; readonly code: ErrorCode };

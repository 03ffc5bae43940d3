/**
 * The part of an AbortSignal that says "give up": an AbortSignal is one, and so are a Deadline and a
 * Cancellation (src/async), which cost far less to make than an AbortSignal of their own.
 *
 * A listener is called at most once by each signal. The caller that adds one removes it when its wait is over.
 */
export interface CancelSignal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** A bearer token as it is used: the value is secret, the id names it in logs and comparisons. */
export interface Token {
  /** First 16 hex digits of the SHA-256 of the value. */
  readonly id: string;
  readonly value: string;
}

export interface IssuedToken {
  readonly value: string;
  /** Remaining life in milliseconds, by the answer or the token's own `exp`; absent when not shown. */
  readonly expiresInMs?: number;
}

/** Printable ASCII without blanks, short enough for a request header. */
const TOKEN_VALUE = /^[\x21-\x7e]{1,8192}$/;

/** Whether a value can be used as a token: anything else could not be put in a request header. */
export function isTokenValue(value: unknown): value is string {
  return typeof value === 'string' && TOKEN_VALUE.test(value);
}

/** An answer that refuses a call, and perhaps its token. */
export interface Refusal {
  /** On these a client refreshes the token and retries once (service-api, Authentication rule 4). */
  readonly status: 401 | 403;
  /** The service's own code, if it gave one. */
  readonly code?: string | undefined;
}

/**
 * Whether a code states that the token itself is not valid: INVALID_ACCESS_KEY (service-api, Errors: also
 * for an expired token), and codes that services of this kind use. No notice is rejected for one, and it
 * is always answered by another token.
 */
export function concernsToken(code: string | undefined): boolean {
  return code !== undefined && /^(INVALID_ACCESS_KEY$|TOKEN_|INVALID_BEARER_)/.test(code);
}

/** Whether a refusal may be of the token: its code states that, or it is a 401 without a code. */
export function mayConcernToken({ status, code }: Refusal): boolean {
  return concernsToken(code) || (status === 401 && code === undefined);
}

/** Codes about the app or the caller, not about the notice (service-api, Errors). */
export const APP_CODES: ReadonlySet<string> = new Set([
  'ACCESS_KEY_NOT_APPROVED',
  'IP_NOT_ALLOWED',
]);

const TOKEN_CODES: ReadonlySet<string> = new Set([
  'INVALID_ACCESS_KEY',
  'TOKEN_EXPIRED',
  'TOKEN_MISMATCH',
  'TOKEN_RECORD_NOT_FOUND',
]);

/** Whether a code is one of those that this program knows by name; it is then no personal data. */
export const isDocumentedCode = (code: string): boolean =>
  APP_CODES.has(code) || TOKEN_CODES.has(code);

/**
 * Where a send call gets its token. src/token implements it for the fleet; a test may pass an object
 * of five lines. Both methods throw errors of our family (TOKEN_UNAVAILABLE, TOKEN_CONTESTED, or the
 * service's own refusal of an issuance); nothing was sent then.
 */
export interface TokenSource {
  /**
   * The current token: from memory in steady state.
   *
   * @param cancel ends the wait with TOKEN_UNAVAILABLE
   */
  get(cancel?: CancelSignal): Promise<Token>;
  /**
   * Another token than the one that the service just refused, or the same one where it is so young
   * that the service may not know it everywhere yet.
   *
   * @param cancel ends the wait with TOKEN_UNAVAILABLE
   * @returns undefined when another token would be refused, too: do not retry
   */
  renew(refused: Token, refusal: Refusal, cancel?: CancelSignal): Promise<Token | undefined>;
}

/** A bearer token as it is used: the value is secret, the id names it in logs and comparisons. */
export interface Token {
  /** First 16 hex digits of the SHA-256 of the value. */
  readonly id: string;
  readonly value: string;
}

/**
 * A token value that can be an Authorization header as it is: printable ASCII without blanks, at
 * most 8,192 characters.
 */
export const TOKEN_VALUE = /^[\x21-\x7e]{1,8192}$/;

/** What an issuance brought. */
export interface IssuedToken {
  readonly value: string;
  /** Milliseconds of life left by the answer or by the token's own `exp`; absent when not shown. */
  readonly expiresInMs?: number;
}

/** Statuses on which a client refreshes the token and retries once (service-api, Authentication rule 4). */
export type RefusalStatus = 401 | 403;

/**
 * Who waits for a token and may give up: an AbortController is one. Its signal is asked for only
 * when there is something to wait for, so that a send in steady state makes none.
 */
export interface Waiting {
  readonly signal: AbortSignal;
}

/**
 * Where a send call gets its token. The token slot implements it for the fleet; a test may hand in
 * five lines. Both methods throw errors of our family (TOKEN_UNAVAILABLE, TOKEN_CONTESTED, or the
 * service's own refusal of an issuance); nothing was sent then.
 */
export interface TokenSource {
  /** The current token: from memory in steady state. */
  get(waiting?: Waiting): Promise<Token>;
  /**
   * Called with a token that the service just refused: answers another one, or the same one where
   * it is so young that the service may not know it everywhere yet.
   */
  renew(refused: Token, status: RefusalStatus, waiting?: Waiting): Promise<Token>;
}

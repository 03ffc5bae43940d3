import {
  AuthorizationResponseError,
  ClientError,
  ResponseBodyError,
  WWWAuthenticateChallengeError,
} from 'openid-client';

/** Why a sign-in through the provider failed. */
export type FailureReason =
  'not-started' | 'declined' | 'not-valid' | 'away' | 'no-role' | 'no-name';

/** A failure at the provider. */
export interface ProviderFailure {
  readonly reason: FailureReason;
  /** Of the library, for the log; never a text of the provider. */
  readonly code?: string;
}

/** Status of the answer for each reason, and what the visitor reads. */
export const FAILURES: Readonly<
  Record<FailureReason, { readonly status: number; readonly says: string }>
> = {
  'not-started': {
    status: 401,
    says: 'This sign-in was not started in this browser, or more than ten minutes ago. Start it again.',
  },
  declined: {
    status: 401,
    says: 'The sign-in provider did not sign you in. Start again, or ask its administrator for access.',
  },
  'not-valid': {
    status: 401,
    says: 'The answer of the sign-in provider is not valid. Start again; if it fails again, the log of the ops server has the reason (ops-sign-in-failed).',
  },
  away: {
    status: 503,
    says: 'The sign-in provider does not answer as it should. Try again in a minute, or sign in with a password if you have one here; the log of the ops server has the reason (ops-sign-in-failed).',
  },
  'no-role': {
    status: 403,
    says: 'Your account has no role on this server. Ask its administrator for one (OIDC_ROLES), then sign in again.',
  },
  'no-name': {
    status: 403,
    says: 'Your account has no name that this server can use. Ask its administrator to check OIDC_NAME_CLAIM.',
  },
};

/** The provider, not its answer to this sign-in, is at fault. */
const AWAY = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_PARSE_ERROR',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
]);

/** Errors of the token endpoint (RFC 6749); others could be any text. */
const TOKEN_ERRORS = new Set([
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
  'unsupported_grant_type',
  'invalid_scope',
]);

/**
 * Reads an error of the library, without its texts: they may hold tokens.
 *
 * @param otherwise reason of an error that names no other
 */
export function failureOf(error: unknown, otherwise: 'away' | 'not-valid'): ProviderFailure {
  if (error instanceof AuthorizationResponseError) return { reason: 'declined', code: error.code };
  if (error instanceof ResponseBodyError) {
    const code = TOKEN_ERRORS.has(error.error) ? error.error : error.code;
    return { reason: otherwise, code };
  }
  if (error instanceof WWWAuthenticateChallengeError) return ofChallenge(error, otherwise);
  if (error instanceof ClientError) {
    const { code = 'OAUTH_INVALID' } = error;
    return { reason: AWAY.has(code) ? 'away' : otherwise, code };
  }
  // What fetch throws: no connection, or one that broke.
  return { reason: 'away', code: 'NO_CONNECTION' };
}

/**
 * An answer of the token endpoint with `WWW-Authenticate`, whose body the library does not read. With status 401 it
 * refuses id or secret of the client; a provider must then send this header (RFC 6749, 5.2).
 */
function ofChallenge(
  { status, code }: WWWAuthenticateChallengeError,
  otherwise: 'away' | 'not-valid',
): ProviderFailure {
  if (status === 401) return { reason: otherwise, code: 'invalid_client' };
  return { reason: status >= 500 ? 'away' : otherwise, code };
}

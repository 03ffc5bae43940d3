import {
  ERROR_CODES,
  NoticeQueueError,
  TokenRefusedError,
  type ErrorCode,
} from '../contracts/errors.ts';

/** Why the fleet issues no token at present; stored in Redis. */
export interface TokenRefusal {
  readonly kind: RefusalKind;
  readonly code: ErrorCode;
  /** How long it is still in effect, in milliseconds. */
  readonly restMs: number;
}

/**
 * - `credentials`: the service refused the key pair, the app or the caller's address;
 * - `contested`: tokens are invalidated unused or early, or the budget of issuances is spent;
 * - `unavailable`: the token endpoint failed, was unreachable or answered no usable token.
 */
export type RefusalKind = 'credentials' | 'contested' | 'unavailable';

const HOLD_OF = {
  credentials: 'credentials',
  contested: 'token-contested',
  unavailable: 'token-unavailable',
} as const satisfies Record<RefusalKind, TokenRefusedError['hold']>;

/** Codes of an issuance that was refused for the caller (service-api, Errors; a bare 401 or 403). */
const CREDENTIALS: ReadonlySet<ErrorCode> = new Set([
  'INVALID_ACCESS_KEY',
  'ACCESS_KEY_NOT_APPROVED',
  'IP_NOT_ALLOWED',
  'SERVICE_REFUSED',
]);

/** The refusal that the error of an issuance causes. Unknown errors count as unavailable. */
export function refusalOf(error: unknown): Omit<TokenRefusal, 'restMs'> {
  const code = error instanceof NoticeQueueError ? error.code : 'TOKEN_UNAVAILABLE';
  return { kind: CREDENTIALS.has(code) ? 'credentials' : 'unavailable', code };
}

/**
 * How long the first refusal of a kind is in effect, and the longest one. Credentials must be fixed by a
 * person; an endpoint that fails may be back soon, and asking it costs little.
 */
export function refusalSpan(
  kind: RefusalKind,
  { refusedMinMs, refusedMaxMs }: { refusedMinMs: number; refusedMaxMs: number },
): { readonly minMs: number; readonly maxMs: number } {
  return kind === 'unavailable'
    ? { minMs: Math.ceil(refusedMinMs / 4), maxMs: Math.ceil(refusedMaxMs / 2) }
    : { minMs: refusedMinMs, maxMs: refusedMaxMs };
}

/** Reads a stored refusal; unknown kinds and codes count as an endpoint that failed. */
export function readRefusal(kind: string, code: string, restMs: number): TokenRefusal {
  const known = kind === 'credentials' || kind === 'contested' ? kind : 'unavailable';
  return { kind: known, code: isErrorCode(code) ? code : 'TOKEN_UNAVAILABLE', restMs };
}

/** The error that get() and renew() throw while the refusal is in effect. */
export function refusedError(
  { kind, code, restMs }: TokenRefusal,
  scope?: TokenRefusedError['scope'],
): TokenRefusedError {
  return new TokenRefusedError(HOLD_OF[kind], code, restMs, scope);
}

/** The hold that a refusal causes. */
export function holdOf(kind: RefusalKind): TokenRefusedError['hold'] {
  return HOLD_OF[kind];
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code);
}

/** Why a request failed, for logs and for the few decisions that depend on it. */
export type TransportFailure =
  | 'refused-connection'
  | 'dns'
  | 'tls'
  | 'certificate'
  | 'timeout'
  | 'reset'
  | 'protocol'
  | 'aborted'
  | 'other';

/**
 * Failures by error code, first match wins. The code names a cause; it proves nothing about what was sent:
 * ECONNRESET occurs before, during and after a request.
 */
const FAILURES: readonly (readonly [RegExp, TransportFailure])[] = [
  [
    /^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN|EADDRNOTAVAIL|EACCES)$/,
    'refused-connection',
  ],
  [/^(ENOTFOUND|EAI_[A-Z]+|ENODATA|ESERVFAIL|EBADNAME)$/, 'dns'],
  [
    /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|CERT_[A-Z_]+|CRL_[A-Z_]+|UNABLE_TO_[A-Z_]+)$/,
    'certificate',
  ],
  [
    /^(ERR_TLS_CERT_[A-Z_]+|ERROR_IN_C[A-Z_]+|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|PATH_LENGTH_EXCEEDED|UND_ERR_PRX_TLS)$/,
    'certificate',
  ],
  [/^(EPROTO|ERR_SSL_.+|ERR_TLS_.+)$/, 'tls'],
  [/^(ETIMEDOUT|UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT)$/, 'timeout'],
  [/^(ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_SOCKET)$/, 'reset'],
  [/^(HPE_.+|UND_ERR_HEADERS_OVERFLOW|UND_ERR_RE[QS]_CONTENT_LENGTH_MISMATCH)$/, 'protocol'],
  [/^UND_ERR_(DESTROYED|CLOSED)$/, 'aborted'],
];

/** The failure behind an error of a socket, of TLS or of undici. */
export function classifyFailure(error: unknown): {
  failure: TransportFailure;
  failureCode?: string;
} {
  const code = codeOf(error);
  // undici 7.30 loses the code of its HTTP parser's errors.
  if (error instanceof Error && error.name === 'HTTPParserError') {
    return { failure: 'protocol', failureCode: code ?? 'HPE_INVALID' };
  }
  if (code === undefined) return { failure: 'other' };
  const row = FAILURES.find(([pattern]) => pattern.test(code));
  return { failure: row?.[1] ?? 'other', failureCode: code };
}

/** The code of the error; with several addresses, that of the first. */
function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code: unknown = 'code' in error ? error.code : undefined;
  if (typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/.test(code)) return code;
  return error instanceof AggregateError ? codeOf(error.errors[0]) : undefined;
}

import { ERROR_CODES } from '../contracts/errors.ts';

/** Label of every code that is not in a list below; it bounds the number of labels. */
export const OTHER = 'OTHER';

/** Statuses with a label of their own; the others count by their class. */
const STATUSES = [
  400, 401, 402, 403, 404, 408, 409, 413, 422, 425, 429, 500, 502, 503, 504,
] as const;

/** Why a request ended without a status, or was not written to a socket. */
const WIRE_CODES = [
  'ABORTED',
  'DEADLINE',
  'NO_ANSWER',
  'HTML_ANSWER',
  'CERTIFICATE',
  'SECOND_START',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'UND_ERR_SOCKET',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_CONNECT_TIMEOUT',
] as const;

/** Codes of attempts that are labels. Any other code is {@link OTHER}. */
export const CODE_LABELS: readonly string[] = [
  ...Object.keys(ERROR_CODES),
  ...STATUSES.map((status) => `HTTP_${status}`),
  'HTTP_3XX',
  'HTTP_4XX',
  'HTTP_5XX',
  ...WIRE_CODES,
  OTHER,
];

const KNOWN: ReadonlySet<string> = new Set(CODE_LABELS);

/** @returns the label of the code of an outcome, which may be any text of the service */
export function codeLabel(code: string): string {
  if (KNOWN.has(code)) return code;
  const [, hundreds] = /^HTTP_([345])\d\d$/.exec(code) ?? [];
  return hundreds === undefined ? OTHER : `HTTP_${hundreds}XX`;
}

/** Codes of Redis errors and of its connection. */
export const REDIS_CODE_LABELS: readonly string[] = [
  'OOM',
  'READONLY',
  'MISCONF',
  'NOREPLICAS',
  'NOAUTH',
  'WRONGPASS',
  'NOPERM',
  'BUSY',
  'LOADING',
  'CROSSSLOT',
  'WRONGTYPE',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  OTHER,
];

const REDIS_KNOWN: ReadonlySet<string> = new Set(REDIS_CODE_LABELS);

/** @returns the label of the code of a Redis error */
export function redisCodeLabel(code: string): string {
  return REDIS_KNOWN.has(code) ? code : OTHER;
}

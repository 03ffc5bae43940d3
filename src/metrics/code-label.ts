import { ERROR_CODES } from '../contracts/errors.ts';

/** Stands for every code that is not in a list below, so that labels stay few whatever is answered. */
export const OTHER = 'OTHER';

/** Statuses that say something by themselves; the others count by their class. */
const STATUSES = [
  400, 401, 402, 403, 404, 408, 409, 413, 422, 425, 429, 500, 502, 503, 504,
] as const;

/** Why a request ended without a status, or was not put on a socket. */
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

/** Codes of an attempt that are labels as they are. Any other text is {@link OTHER}. */
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

/** The label of an outcome's code: services may answer any text. */
export function codeLabel(code: string): string {
  if (KNOWN.has(code)) return code;
  const [, hundreds] = /^HTTP_([345])\d\d$/.exec(code) ?? [];
  return hundreds === undefined ? OTHER : `HTTP_${hundreds}XX`;
}

/** Words for what Redis said, or what became of its connection. */
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

/** The label of a Redis error's word. */
export function redisCodeLabel(word: string): string {
  return REDIS_KNOWN.has(word) ? word : OTHER;
}

import {
  ERROR_CODES,
  InputError,
  NoticeQueueError,
  type ErrorCode,
} from '../../../contracts/errors.ts';

/** An error as the API answers it (RFC 9457, `application/problem+json`). */
export interface Problem {
  readonly type: string;
  /** What the code means, the same each time. */
  readonly title: string;
  readonly status: number;
  /** What happened this time, and what to do. */
  readonly detail: string;
  /** One of {@link ERROR_CODES}, or `DEFECT` for an error of ours that nobody foresaw. */
  readonly code: ErrorCode | 'DEFECT';
  /** Every field that is wrong, where some are. */
  readonly issues?: readonly { readonly field: string; readonly problem: string }[];
  /** Seconds after which it may be tried again, where that is known; also the Retry-After header. */
  readonly retryAfter?: number;
}

/** The status of each code that a request can meet; all others are 500. */
const STATUS: Partial<Record<ErrorCode, number>> = {
  REQUEST_INVALID: 400,
  NOT_SIGNED_IN: 401,
  NOT_PERMITTED: 403,
  CROSS_SITE: 403,
  NOT_FOUND: 404,
  NOT_POSSIBLE: 409,
  IDEMPOTENCY_CONFLICT: 409,
  PAYLOAD_UNREADABLE: 409,
  NOTICE_INVALID: 422,
  TOO_MANY_REQUESTS: 429,
  QUEUE_UNAVAILABLE: 503,
  QUEUE_REFUSED: 503,
  QUEUE_CLOSED: 503,
  REDIS_UNSUITABLE: 503,
  TOKEN_UNAVAILABLE: 503,
};

/** Seconds after which Redis may be there again. */
const REDIS_RETRY_AFTER = 2;

/** What fastify says of a request that it cannot read, in our words. */
const UNREADABLE: Readonly<Record<number, string>> = {
  413: 'The body is larger than this server reads (OPS_MAX_BODY_BYTES).',
  414: 'The address is too long.',
  415: 'The body is of another type: send application/json.',
};

/** A request that came too early. */
export class TooManyRequests extends NoticeQueueError {
  override readonly name = 'TooManyRequests';
  /** In seconds. */
  readonly retryAfter: number;

  constructor(retryAfter: number, detail?: string) {
    super('TOO_MANY_REQUESTS', detail);
    this.retryAfter = retryAfter;
  }
}

/**
 * The problem that stands for an error.
 *
 * @param redisTrouble what to say instead of the error where Redis did not answer
 */
export function problemOf(error: unknown, redisTrouble?: string): Problem {
  if (error instanceof NoticeQueueError) return ofOurs(error, redisTrouble);
  const { statusCode } = (error ?? {}) as { statusCode?: unknown };
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    const detail = UNREADABLE[statusCode] ?? 'The request cannot be read.';
    return problem('REQUEST_INVALID', statusCode, new NoticeQueueError('REQUEST_INVALID', detail));
  }
  return {
    type: typeOf('DEFECT'),
    title: 'An error that nobody foresaw; this is a defect of notice-queue.',
    status: 500,
    detail: 'An error that nobody foresaw; the log of the ops server names its kind.',
    code: 'DEFECT',
  };
}

function ofOurs(error: NoticeQueueError, redisTrouble: string | undefined): Problem {
  const status = STATUS[error.code] ?? 500;
  const found = problem(error.code, status, error);
  if (error instanceof TooManyRequests) return { ...found, retryAfter: error.retryAfter };
  if (status !== 503) return found;
  return {
    ...found,
    ...(redisTrouble === undefined || !isAway(error) ? {} : { detail: redisTrouble }),
    retryAfter: REDIS_RETRY_AFTER,
  };
}

function isAway({ code }: NoticeQueueError): boolean {
  return code === 'QUEUE_UNAVAILABLE' || code === 'TOKEN_UNAVAILABLE';
}

function problem(code: ErrorCode, status: number, error: NoticeQueueError): Problem {
  return {
    type: typeOf(code),
    title: ERROR_CODES[code].meaning,
    status,
    detail: error.message,
    code,
    ...(error instanceof InputError ? { issues: error.issues } : {}),
  };
}

function typeOf(code: string): string {
  return `urn:notice-queue:problem:${code.toLowerCase().replaceAll('_', '-')}`;
}

import { z } from 'zod';
import {
  ERROR_CODES,
  errorCodes,
  ImportError,
  InputError,
  NoticeQueueError,
  type ErrorCode,
} from '../../../contracts/errors.ts';
import { named } from '../../../contracts/answer.ts';

/** An error in a response of the API (RFC 9457, `application/problem+json`). */
export const problemAnswer = named(
  'Problem',
  z.looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.enum([...errorCodes, 'DEFECT']),
    issues: z.array(z.object({ field: z.string(), problem: z.string() })).optional(),
    batch: z.string().optional().describe('of an import that ended after it was created'),
    queued: z.int().optional().describe('contacts of that batch that are queued'),
    retryAfter: z.number().optional().describe('in seconds'),
  }),
);

export type Problem = z.output<typeof problemAnswer>;

/** HTTP status of each code that a request can cause; all others are 500. */
export const STATUS: Partial<Record<ErrorCode, number>> = {
  REQUEST_INVALID: 400,
  NOT_SIGNED_IN: 401,
  NOT_PERMITTED: 403,
  CROSS_SITE: 403,
  NOT_FOUND: 404,
  NOT_POSSIBLE: 409,
  IDEMPOTENCY_CONFLICT: 409,
  PAYLOAD_UNREADABLE: 409,
  LIST_REPEATED: 409,
  BATCH_CONFLICT: 409,
  BATCH_CANCELLED: 409,
  NOTICE_INVALID: 422,
  SOURCE_INVALID: 422,
  TOO_MANY_REQUESTS: 429,
  QUEUE_UNAVAILABLE: 503,
  QUEUE_REFUSED: 503,
  REDIS_FULL: 503,
  IMPORT_STOPPED: 503,
  QUEUE_CLOSED: 503,
  REDIS_UNSUITABLE: 503,
  TOKEN_UNAVAILABLE: 503,
};

/** Where the cause is that Redis does not answer. */
const AWAY: ReadonlySet<ErrorCode> = new Set(['QUEUE_UNAVAILABLE', 'TOKEN_UNAVAILABLE']);

/** Seconds after which to retry while Redis is away. */
const REDIS_RETRY_AFTER = 2;

/** Detail of requests that fastify cannot read, by status. */
export const UNREADABLE: Readonly<Record<number, string>> = {
  413: 'The body is larger than the limit of this route: 4 MiB for notices, 64 KiB for all others.',
  414: 'The URL is too long.',
  415: 'The media type of the body is not supported: send application/json; for lists text/csv or application/x-ndjson.',
};

/** The problem of every error that is none of this package. */
export const DEFECT = {
  type: typeOf('DEFECT'),
  title: 'An unexpected error; this is a defect of notice-queue.',
  status: 500,
  detail: 'An unexpected error; the log of the ops server names its kind.',
  code: 'DEFECT',
} as const satisfies Problem;

/** A request above a rate limit of this server. */
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
 * Translates an error to a problem.
 *
 * @param redisTrouble replaces the detail where Redis did not answer
 */
export function problemOf(error: unknown, redisTrouble?: string): Problem {
  if (error instanceof NoticeQueueError) {
    const found = problem(error, STATUS[error.code] ?? 500);
    if (error instanceof TooManyRequests) return { ...found, retryAfter: error.retryAfter };
    if (found.status !== 503) return found;
    const detail = (AWAY.has(error.code) ? redisTrouble : undefined) ?? found.detail;
    return { ...found, detail, retryAfter: REDIS_RETRY_AFTER };
  }
  const { statusCode } = (error ?? {}) as { statusCode?: unknown };
  if (typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500) {
    const detail = UNREADABLE[statusCode] ?? 'The request cannot be read.';
    return problem(new NoticeQueueError('REQUEST_INVALID', detail), statusCode);
  }
  return { ...DEFECT };
}

function problem(error: NoticeQueueError, status: number): Problem {
  const { code, message: detail } = error;
  return {
    type: typeOf(code),
    title: ERROR_CODES[code].meaning,
    status,
    detail,
    code,
    ...(error instanceof InputError ? { issues: [...error.issues] } : {}),
    ...(error instanceof ImportError ? { batch: error.batch, queued: error.queued } : {}),
  };
}

function typeOf(code: string): string {
  return `urn:notice-queue:problem:${code.toLowerCase().replaceAll('_', '-')}`;
}

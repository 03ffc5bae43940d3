/**
 * One family of errors with literal codes.
 *
 * Every error that this package throws is a {@link NoticeQueueError}. Its message contains what
 * happened and what to do next. It never contains a secret, a token, a full phone number, or an
 * error object of axios or Redis (those hold headers, bodies and command arguments), so it can be
 * logged, stored and shown as it is.
 */

/** Meaning and remedy of each code. A test compares the table of the documentation with it. */
export const ERROR_CODES = {
  CONFIG_INVALID: {
    meaning: 'A configuration value is missing, invalid, or contradicts another one.',
    remedy: 'Fix the variables listed above; `notices config` shows the effective configuration.',
  },
  NOTICE_INVALID: {
    meaning: 'The notice or its options are invalid; nothing was enqueued.',
    remedy: 'Correct what is listed above and try again.',
  },
  IDEMPOTENCY_CONFLICT: {
    meaning:
      'The idempotency key was already used for a different notice, and this one was not enqueued.',
    remedy: 'Use a separate key for each notice.',
  },
  QUEUE_UNAVAILABLE: {
    meaning:
      'Redis did not respond in time; the message states whether the notice may have been enqueued.',
    remedy:
      'Check Redis, then try again; with the same idempotency key a notice is enqueued at most once.',
  },
  QUEUE_REFUSED: {
    meaning: 'Redis rejected the command (out of memory, read-only, no permission).',
    remedy: 'Fix the problem of Redis named above, then try again with the same idempotency key.',
  },
  REDIS_FULL: {
    meaning:
      'Redis has little memory left, which is kept for sending what waits; nothing more was enqueued.',
    remedy:
      'Let workers send what waits, or raise maxmemory; then try again (an import resumes where it stopped).',
  },
  QUEUE_CLOSED: {
    meaning: 'The queue object was closed before the call.',
    remedy: 'Keep one NoticeQueue open as long as the process sends notices.',
  },
  REDIS_UNSUITABLE: {
    meaning: 'This Redis could lose notices: it evicts keys, lacks persistence, or is too old.',
    remedy: 'Fix the problem of Redis named above; `notices status` shows all findings.',
  },
  JOB_INVALID: {
    meaning: 'A job in the queue has a format that this worker does not support; it was not sent.',
    remedy: 'Check the producer against docs/job.schema.json; update workers before producers.',
  },
  INTERNAL_ERROR: {
    meaning: 'An error in notice-queue itself ended the attempt.',
    remedy: 'Report it, with the log line `trouble` before that of the attempt.',
  },
  INVALID_ACCESS_KEY: {
    meaning: 'The access key does not exist, the secret is wrong, or the token has expired.',
    remedy:
      'Compare ACCESS_KEY, SECRET_KEY and API_VERSION with the console of the service, and restart the workers with the right ones.',
  },
  ACCESS_KEY_NOT_APPROVED: {
    meaning: 'The app is still pending approval.',
    remedy: 'Have the app approved in the console of the service; sending then resumes by itself.',
  },
  IP_NOT_ALLOWED: {
    meaning: "The request came from an address outside the app's IP allowlist.",
    remedy: 'Add the outbound address (that of the NAT gateway, if there is one) to the allowlist.',
  },
  SERVICE_REFUSED: {
    meaning: 'The service rejected this request.',
    remedy: 'Correct what the code and the message of the service name; workers log both.',
  },
  SERVICE_UNREACHABLE: {
    meaning: 'No connection to the service could be made; provably nothing was sent.',
    remedy: 'Check BASE_URL, DNS, the firewall and PROXY_URL; workers retry automatically.',
  },
  OUTCOME_UNKNOWN: {
    meaning: 'The request may have reached the service, and its response is unknown.',
    remedy: 'Check the notice at the service before you send it again.',
  },
  TOKEN_INVALID: {
    meaning: 'The response of the token endpoint contained no usable token.',
    remedy: 'Check BASE_URL and TOKEN_PATH: this may not be the messaging service.',
  },
  TOKEN_UNAVAILABLE: {
    meaning: 'No token was available in time: the token endpoint or Redis did not respond.',
    remedy: 'Nothing was sent; workers probe and resume automatically.',
  },
  TOKEN_CONTESTED: {
    meaning:
      'Tokens become invalid soon after they are issued: another program issues tokens for this app.',
    remedy: 'Stop the other program that uses this key pair, or create a separate app for it.',
  },
  EXPIRED: {
    meaning: "The notice's expiresAt passed before it could be sent.",
    remedy:
      'What is `expired` was not sent in this run; send it again with a later expiresAt if it is still needed.',
  },
  SUPPRESSED: {
    meaning:
      'The number is on the do-not-send list: this attempt did not send to it; an earlier one that was possibly sent may have arrived.',
    remedy:
      'If its holder wants notices again, remove it (`notices suppress remove`) and send a new notice.',
  },
  PAYLOAD_UNREADABLE: {
    meaning:
      'Stored contacts cannot be decrypted, are damaged, or belong to another batch or notice; they were not sent.',
    remedy: 'Set PAYLOAD_KEY (or PAYLOAD_KEY_PREVIOUS) to the key that encrypted them.',
  },
  SOURCE_INVALID: {
    meaning: 'The contact list cannot be read.',
    remedy: 'Fix the list, or the options that describe its format, and import it again.',
  },
  BATCH_CONFLICT: {
    meaning:
      'The batch id is already used for another list or other options; nothing more was enqueued.',
    remedy: 'Use the same list and options to resume that batch, or another id.',
  },
  BATCH_CANCELLED: {
    meaning: 'The batch was cancelled; nothing more of it is enqueued.',
    remedy:
      'To send what was not sent, import the output of `notices failures BATCH --state cancelled --csv`; --again (again) with another batch id sends the whole list once more.',
  },
  LIST_REPEATED: {
    meaning: 'The list, or a part of it, was imported before; nothing was enqueued.',
    remedy:
      'To continue that batch, add its id (--batch, batchId) and its options; --again (again) sends to the whole list once more.',
  },
  IMPORT_STOPPED: {
    meaning: 'The import was stopped before the end of the list.',
    remedy: 'Run the same import again: it resumes where it stopped.',
  },
  REJECTS_UNWRITABLE: {
    meaning: 'The file for rejected rows cannot be written.',
    remedy: 'Free disk space or choose another file, then run the same import again: it resumes.',
  },
  REQUEST_INVALID: {
    meaning: 'The request to the ops server, or to NoticeAdmin, is invalid; nothing was done.',
    remedy: 'Fix the fields listed above; docs/openapi.json describes valid requests.',
  },
  NOT_SIGNED_IN: {
    meaning: 'The request to the ops server is not authenticated.',
    remedy: 'Sign in, or send an API key as `Authorization: Bearer`.',
  },
  NOT_PERMITTED: {
    meaning: 'The role of the caller does not permit this.',
    remedy: 'Ask an operator, or change the role in OPS_USERS or OPS_API_KEYS.',
  },
  CROSS_SITE: {
    meaning: 'The request does not come from a page of the ops server; nothing was done.',
    remedy: 'Reload the page and try again.',
  },
  NOT_FOUND: {
    meaning: 'Nothing with this name exists (it may have been deleted).',
    remedy: 'Check the id; finished batches and notices are deleted after their retention.',
  },
  NOT_POSSIBLE: {
    meaning: 'The action is not possible in the current state; nothing was done.',
    remedy: 'Check the state, and first do what the message names.',
  },
  TOO_MANY_REQUESTS: {
    meaning: 'Too many requests, in a short time or on one day; nothing was done.',
    remedy: 'Wait for the time given in the response, then try again.',
  },
  REDIS_MISSING: {
    meaning: 'No Redis was found, and none could be started.',
    remedy: 'Set REDIS_URL, install redis-server, or start Docker.',
  },
} as const satisfies Record<string, { meaning: string; remedy: string }>;

/** All codes. A code is never reused for another meaning. */
export type ErrorCode = keyof typeof ERROR_CODES;

export const errorCodes = Object.keys(ERROR_CODES) as [ErrorCode, ...ErrorCode[]];

/** Codes of a state that passes: the same call may succeed later. */
const PASSING = /^(?:QUEUE_UNAVAILABLE|QUEUE_REFUSED|REDIS_FULL|IMPORT_STOPPED)$/;

/** Base of the family: branch on `code`, show `message`. */
export class NoticeQueueError extends Error {
  override readonly name: string = 'NoticeQueueError';
  readonly code: ErrorCode;

  /** @param detail what happened, without personal data. Default: the meaning of the code */
  constructor(code: ErrorCode, detail?: string) {
    const { meaning, remedy } = ERROR_CODES[code];
    super(`${detail ?? meaning} ${remedy}`);
    this.code = code;
  }

  /** Whether the same call may succeed later; repeat it with its idempotency key. */
  get retryable(): boolean {
    return PASSING.test(this.code);
  }
}

/** One problem of an input: its field, and what was expected. */
export interface InputIssue {
  /** Path of the field, such as `contacts[3].contact` or `REDIS_URL`. */
  readonly field: string;
  /** What was expected, and what was found where that is safe to show. */
  readonly problem: string;
}

/** Invalid input; `issues` lists every problem at once. */
export class InputError extends NoticeQueueError {
  override readonly name: string = 'InputError';
  readonly issues: readonly InputIssue[];

  constructor(
    code: 'CONFIG_INVALID' | 'NOTICE_INVALID' | 'REQUEST_INVALID',
    issues: readonly InputIssue[],
  ) {
    super(code, `${issues.map(({ field, problem }) => `${field}: ${problem}`).join('; ')}.`);
    this.issues = issues;
  }
}

/** An import that failed or was stopped after its batch was created; `queued` contacts of the list are in it. */
export class ImportError extends NoticeQueueError {
  override readonly name: string = 'ImportError';
  /** Id of the batch. */
  readonly batch: string;
  /** Contacts that the batch has, also those of an earlier run. They are sent. */
  readonly queued: number;

  constructor(code: ErrorCode, detail: string, batch: string, queued: number) {
    super(code, detail);
    this.batch = batch;
    this.queued = queued;
  }
}

/**
 * A recent issuance of a token was refused, failed or was blocked, so the fleet does not ask the service
 * again yet; nothing was sent. `code` follows from the hold: TOKEN_CONTESTED, TOKEN_UNAVAILABLE, or
 * for `credentials` the refusal of the service.
 */
export class TokenRefusedError extends NoticeQueueError {
  override readonly name: string = 'TokenRefusedError';
  /** The hold that this starts. */
  readonly hold: 'credentials' | 'token-contested' | 'token-unavailable';
  /** The error of the issuance itself; for `token-unavailable` more specific than `code`. */
  readonly refusalCode: ErrorCode;
  /** Milliseconds until one process of the fleet may request a token again. */
  readonly retryInMs: number;

  constructor(hold: TokenRefusedError['hold'], refusalCode: ErrorCode, retryInMs: number) {
    const code = {
      credentials: refusalCode,
      'token-contested': 'TOKEN_CONTESTED',
      'token-unavailable': 'TOKEN_UNAVAILABLE',
    } as const;
    const seconds = Math.ceil(retryInMs / 1000);
    super(
      code[hold],
      `${ERROR_CODES[refusalCode].meaning} No token is requested for the next ${seconds} s.`,
    );
    this.hold = hold;
    this.refusalCode = refusalCode;
    this.retryInMs = retryInMs;
  }
}

/** One line for the terminal: the message of a {@link NoticeQueueError}; of any other error only its type. */
export function describeFailure(error: unknown): string {
  if (error instanceof NoticeQueueError) return `${error.code}: ${error.message}`;
  return `unexpected failure (${error instanceof Error ? error.name : typeof error}); this is a bug in notice-queue`;
}

/**
 * Exit code of a program that fails with this error: 2 for invalid input or configuration, 3 when Redis is
 * unavailable or refused the command, 1 for everything else. `notices import` ends with 1 also for a list that
 * breaks after contacts were queued.
 */
export function exitCodeOf(error: unknown): 1 | 2 | 3 {
  if (!(error instanceof NoticeQueueError)) return 1;
  if (OF_INPUT.test(error.code)) return 2;
  return OF_REDIS.test(error.code) ? 3 : 1;
}

const OF_INPUT =
  /^(?:(?:CONFIG|NOTICE|REQUEST|SOURCE)_INVALID|IDEMPOTENCY_CONFLICT|BATCH_CONFLICT|LIST_REPEATED)$/;
const OF_REDIS = /^(?:QUEUE_UNAVAILABLE|QUEUE_REFUSED|REDIS_FULL|REDIS_UNSUITABLE|REDIS_MISSING)$/;

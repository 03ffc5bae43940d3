/**
 * One family of errors with literal codes.
 *
 * Every error that leaves this package is a {@link NoticeQueueError}. Its message says what
 * happened and what to do next; it never carries a secret, a token, a full phone number, or an
 * error object of axios or Redis (those hold headers, bodies and command arguments), so an error
 * of ours can be logged, stored and shown as it is.
 */

/** What each code means and what the reader should do. README's table is checked against it. */
export const ERROR_CODES = {
  CONFIG_INVALID: {
    meaning: 'A configuration value is missing, malformed or contradicts another one.',
    remedy: 'Mend the named variables; `notices config` shows what is in effect.',
  },
  NOTICE_INVALID: {
    meaning: 'The notice or its options break the contract; nothing was queued.',
    remedy: 'Mend the named fields and call again.',
  },
  IDEMPOTENCY_CONFLICT: {
    meaning: 'The idempotency key was used before for a different notice; nothing was queued.',
    remedy: 'Use a key of its own for each notice.',
  },
  QUEUE_UNAVAILABLE: {
    meaning: 'Redis did not answer in time; the notice may or may not have been queued.',
    remedy:
      'Check Redis, then call again; with the same idempotency key a notice is queued at most once.',
  },
  QUEUE_REFUSED: {
    meaning: 'Redis answered, but refused the command (out of memory, read-only, no permission).',
    remedy: 'Mend Redis as the message says, then call again with the same idempotency key.',
  },
  QUEUE_CLOSED: {
    meaning: 'The queue object was closed before the call.',
    remedy: 'Keep one NoticeQueue open for as long as the process sends.',
  },
  REDIS_UNSUITABLE: {
    meaning: 'This Redis would lose notices: it evicts keys, keeps too little, or is too old.',
    remedy: 'Mend Redis as the message says; `notices status` shows all that is found.',
  },
  JOB_INVALID: {
    meaning: 'A job in the queue is not of a shape this worker knows; it was not sent.',
    remedy: 'Compare the producer with docs/job.schema.json; update workers before producers.',
  },
  INVALID_ACCESS_KEY: {
    meaning: 'The access key does not exist, the secret is wrong, or the token has expired.',
    remedy: 'Check ACCESS_KEY, SECRET_KEY and API_VERSION against the console of the service.',
  },
  ACCESS_KEY_NOT_APPROVED: {
    meaning: 'The app is still pending approval.',
    remedy: 'Have the app approved in the console of the service.',
  },
  IP_NOT_ALLOWED: {
    meaning: "The call came from an address outside the app's IP allowlist.",
    remedy: 'Add the outbound address (of the NAT gateway, if there is one) to the allowlist.',
  },
  SERVICE_REFUSED: {
    meaning: 'The service refused the request for itself.',
    remedy: "Mend what the service's own code and message name, then send the notice again.",
  },
  SERVICE_UNREACHABLE: {
    meaning: 'No connection to the service was made; provably nothing was sent.',
    remedy: 'Check BASE_URL, DNS, the firewall and PROXY_URL; the queue retries by itself.',
  },
  OUTCOME_UNKNOWN: {
    meaning: 'The request may have reached the service, and its answer is not known.',
    remedy: 'Look the notice up at the service before sending it again.',
  },
  TOKEN_INVALID: {
    meaning: 'The issuance answer held no usable token.',
    remedy: 'Check BASE_URL and TOKEN_PATH: this may not be the messaging service.',
  },
  TOKEN_UNAVAILABLE: {
    meaning: 'No token could be had in time: the token endpoint or Redis did not answer.',
    remedy: 'Nothing was sent; the queue probes and resumes by itself.',
  },
  TOKEN_CONTESTED: {
    meaning: 'Tokens die as soon as they are issued: somebody else issues for this app.',
    remedy: 'Stop the other program that uses this key pair, or give it an app of its own.',
  },
  EXPIRED: {
    meaning: "The notice's expiresAt passed before it could be sent.",
    remedy: 'Nothing was sent; send it again with a later expiresAt if it still matters.',
  },
  PAYLOAD_UNREADABLE: {
    meaning: 'The stored contacts of a chunk cannot be opened; they were not sent.',
    remedy:
      'Give workers and importers the PAYLOAD_KEY (or PAYLOAD_KEY_PREVIOUS) that sealed them.',
  },
  SOURCE_INVALID: {
    meaning: 'The contact list cannot be read as it is.',
    remedy: 'Mend the list, or the options that say how to read it, and import it again.',
  },
  BATCH_CONFLICT: {
    meaning: 'The batch id stands for another list or other options; nothing was queued.',
    remedy: 'Use the same list and options to go on with it, or an id of its own.',
  },
  BATCH_CANCELLED: {
    meaning: 'The batch was cancelled; nothing more of it is queued.',
    remedy: 'Import the list under another batch id if it is to be sent after all.',
  },
  IMPORT_STOPPED: {
    meaning: 'The import ended before its list did.',
    remedy: 'Run the same import again: it goes on where it stood.',
  },
  REJECTS_UNWRITABLE: {
    meaning: 'The file of refused rows cannot be written.',
    remedy: 'Free the disk or name another file, then run the same import again: it goes on.',
  },
  REQUEST_INVALID: {
    meaning: 'The request to the ops server breaks its contract; nothing was done.',
    remedy: 'Mend what is named; docs/openapi.json says what is expected.',
  },
  NOT_SIGNED_IN: {
    meaning: 'The ops server does not know who calls.',
    remedy: 'Sign in, or send an API key as `Authorization: Bearer`.',
  },
  NOT_PERMITTED: {
    meaning: 'The role of the caller is not enough.',
    remedy: 'Ask an operator, or have the role changed in OPS_USERS or OPS_API_KEYS.',
  },
  CROSS_SITE: {
    meaning: 'The request does not come from a page of the ops server; nothing was done.',
    remedy: 'Load the page anew and try again.',
  },
  NOT_FOUND: {
    meaning: 'There is nothing of this name (any more).',
    remedy: 'Check the address and the id; what is over is deleted when its retention ends.',
  },
  NOT_POSSIBLE: {
    meaning: 'What was asked for is not possible as things stand; nothing was done.',
    remedy: 'Look at its state, and do first what the message names.',
  },
  TOO_MANY_REQUESTS: {
    meaning: 'Too many requests in a short time; nothing was done.',
    remedy: 'Wait as long as the answer says, then try again.',
  },
  REDIS_MISSING: {
    meaning: 'No Redis was found, and none could be started.',
    remedy: 'Set REDIS_URL, install redis-server, or start a Docker engine.',
  },
} as const satisfies Record<string, { meaning: string; remedy: string }>;

/** The closed set of codes. Codes are never reused for another meaning. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** Base of the family: branch on `code`, show `message`. */
export class NoticeQueueError extends Error {
  override readonly name: string = 'NoticeQueueError';
  readonly code: ErrorCode;

  /**
   * @param code one of {@link ERROR_CODES}
   * @param detail what happened, without personal data; the code's meaning when left out
   * @param options `cause` is kept only when it is an error of this family
   */
  constructor(code: ErrorCode, detail?: string, options?: { cause?: unknown }) {
    const { meaning, remedy } = ERROR_CODES[code];
    const cause = options?.cause;
    super(
      `${detail ?? meaning} ${remedy}`,
      cause instanceof NoticeQueueError ? { cause } : undefined,
    );
    this.code = code;
  }
}

/** One thing that is wrong with an input: where, and what was expected. */
export interface InputIssue {
  /** Path of the field, such as `contacts[3].contact` or `REDIS_URL`. */
  readonly field: string;
  /** What was expected, and what was found where that is safe to show. */
  readonly problem: string;
}

/** A value handed in from outside breaks its contract; `issues` names every place at once. */
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

/**
 * The last issuance of a token was refused, failed or was held back, and the fleet remembers it:
 * nothing was asked of the service now, and nothing was sent. `code` follows from the hold:
 * TOKEN_CONTESTED, TOKEN_UNAVAILABLE, or for `credentials` the service's own refusal.
 */
export class TokenRefusedError extends NoticeQueueError {
  override readonly name: string = 'TokenRefusedError';
  /** The hold that this puts on the queue. */
  readonly hold: 'credentials' | 'token-contested' | 'token-unavailable';
  /** What went wrong with the issuance itself; for `token-unavailable` more exact than `code`. */
  readonly refusalCode: ErrorCode;
  /** Milliseconds until one process of the fleet may ask the service again. */
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
      `${ERROR_CODES[refusalCode].meaning} No token is asked for in the next ${seconds} s.`,
    );
    this.hold = hold;
    this.refusalCode = refusalCode;
    this.retryInMs = retryInMs;
  }
}

/** One line for a terminal: a message of ours as it is, of anything else only its kind. */
export function describeFailure(error: unknown): string {
  if (error instanceof NoticeQueueError) return `${error.code}: ${error.message}`;
  return `unexpected failure (${error instanceof Error ? error.name : typeof error}); this is a defect of notice-queue`;
}

/**
 * Exit code of a program that ends with this error: 2 for input or configuration that has to be
 * mended first, 3 where Redis did not serve, 1 for everything else.
 */
export function exitCodeOf(error: unknown): 1 | 2 | 3 {
  if (!(error instanceof NoticeQueueError)) return 1;
  switch (error.code) {
    case 'CONFIG_INVALID':
    case 'NOTICE_INVALID':
    case 'REQUEST_INVALID':
    case 'IDEMPOTENCY_CONFLICT':
    case 'SOURCE_INVALID':
    case 'BATCH_CONFLICT':
      return 2;
    case 'QUEUE_UNAVAILABLE':
    case 'QUEUE_REFUSED':
    case 'REDIS_UNSUITABLE':
    case 'REDIS_MISSING':
      return 3;
    default:
      return 1;
  }
}

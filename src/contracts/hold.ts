/**
 * Holds: the whole queue stands still for a reason that is not the job's fault, with a next probe.
 * One row per kind, in plain words for the person who is called when notices stop.
 */
export const HOLDS = {
  credentials: {
    reason: 'the service refuses the key pair, the app or the caller address',
    remedy:
      'check ACCESS_KEY, SECRET_KEY, API_VERSION, the approval of the app and its IP allowlist',
  },
  'token-contested': {
    reason: 'tokens die as soon as they are issued: somebody else issues for this app',
    remedy: 'stop the other program that uses this key pair, or give it an app of its own',
  },
  'token-unavailable': {
    reason: 'the token endpoint does not answer',
    remedy: 'check BASE_URL, TOKEN_PATH and the network; the service itself may be down',
  },
  credit: {
    reason: 'the credit of the account has run out (402)',
    remedy: 'top up the account at the service',
  },
  throttled: {
    reason: 'the service asks for a slower pace (429)',
    remedy:
      'wait: the pace has fallen; if it comes often, set RATE_LIMIT or ask the service for a higher limit',
  },
  address: {
    reason:
      'what answers is not the API: a redirect, an HTML page or a certificate that does not verify',
    remedy: 'check BASE_URL, SEND_PATH_V1 or SEND_PATH_V2, PROXY_URL and TLS_CA_FILE',
  },
  manual: {
    reason: 'a person holds the queue',
    remedy: 'lift the hold when the reason is gone',
  },
  restored: {
    reason:
      'Redis holds an old copy of the queue, or may: what was sent since the copy was made would be sent again',
    remedy:
      '"notices restored" says what that is; park it, or cancel or pause its batches, then lift the hold',
  },
} as const;

/** Name of a hold. */
export type HoldKind = keyof typeof HOLDS;

/** Whether one job probes from time to time whether the hold is over; else only a person ends it. */
export function isProbed(kind: HoldKind): boolean {
  return kind !== 'manual' && kind !== 'restored';
}

/** A hold as it stands in Redis. Times are Redis time, in milliseconds since the epoch. */
export interface Hold {
  readonly kind: HoldKind;
  /** The code of the service or of ours that brought it on, for the log and the pages. */
  readonly code: string;
  readonly since: number;
  /** When one job tries again. */
  readonly nextProbeAt: number;
  /** Probes that failed in a row; the distance to the next one grows with it. */
  readonly failedProbes: number;
}

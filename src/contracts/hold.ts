/**
 * Holds: sending is stopped for the whole account, for a cause that is not one notice's. One row per kind,
 * for the person who is called when notices stop.
 */
export const HOLDS = {
  credentials: {
    reason:
      'the service refuses the key pair, the app or the caller address, or one notice after another',
    remedy:
      'check ACCESS_KEY, SECRET_KEY, API_VERSION, the approval of the app and its IP allowlist; if the code is about the notices (a sender key, a template), correct or cancel them',
  },
  'token-contested': {
    reason:
      'tokens become invalid soon after they are issued: another program issues tokens for this app',
    remedy:
      'stop the other program that uses this key pair, or give it an app of its own; if nothing was ever accepted, check API_VERSION',
  },
  'token-unavailable': {
    reason: 'the token endpoint does not answer',
    remedy: 'check BASE_URL, TOKEN_PATH and the network; the service itself may be down',
  },
  unreachable: {
    reason: 'no connection to the service: nothing is sent',
    remedy: 'check BASE_URL, PROXY_URL, the name server and the network; the service may be down',
  },
  failing: {
    reason: 'requests end with a server error or without an answer, so each may have been taken',
    remedy:
      'wait: one notice or chunk at a time probes it, those sent at most once last; ask the service about its outage',
  },
  credit: {
    reason: 'the credit of the account has run out (402)',
    remedy: 'top up the account at the service',
  },
  throttled: {
    reason: 'the service limits the send requests (429)',
    remedy:
      'wait: the rate limit was decreased; if it happens often, set RATE_LIMIT or ask the service for a higher limit',
  },
  address: {
    reason:
      'not the API answers, but a redirect, an HTML page or a certificate that does not verify',
    remedy: 'check BASE_URL, SEND_PATH or SEND_PATH, PROXY_URL and TLS_CA_FILE',
  },
  template: {
    reason: 'the service refuses notice after notice of this template alike, and accepts none',
    remedy:
      'check the template at the service, its sender keys and its approval; probes find by themselves when it is accepted',
  },
  manual: {
    reason: 'held manually',
    remedy: 'lift the hold when its cause is gone',
  },
  restored: {
    reason:
      'Redis contains an old copy of the queue, or may: notices sent since the copy was made would be sent again',
    remedy:
      '"notices restored" lists what may be sent again; park it, or cancel or pause its batches, then lift the hold',
  },
} as const;

/** Kind of a hold. */
export type HoldKind = keyof typeof HOLDS;

/** Whether a job checks from time to time if the hold is over; otherwise only a person ends it. */
export function isProbed(kind: HoldKind): boolean {
  return kind !== 'manual' && kind !== 'restored';
}

/** A hold as it is stored in Redis. Times are Redis time, in milliseconds since the epoch. */
export interface Hold {
  readonly kind: HoldKind;
  /** The code of the service or of ours that caused it, for the log and the pages. */
  readonly code: string;
  readonly since: number;
  /** When one job is sent as a probe. */
  readonly nextProbeAt: number;
  /** Probes that failed in a row; the time to the next one grows with it. */
  readonly failedProbes: number;
}

/** Longest reason of a manual hold, in characters; it is stored as the code of the hold. */
export const MAX_HOLD_REASON = 100;

import type { DeliveryPolicy } from '../../contracts/outcome.ts';

/** Answer to a claim of a chunk. Nothing may be sent unless `kind` is `send`. */
export type Claim =
  | SentClaim
  | { readonly kind: 'later'; readonly afterMs: number }
  | ClaimedLate
  | { readonly kind: 'lost' | 'gone' | 'paused' | 'cancelled' | 'settled' };

/** The chunk is to be sent. */
export interface SentClaim {
  readonly kind: 'send';
  /** JSON of the request body without its contacts. */
  readonly frame: string;
  /** The contacts; see chunk-payload.ts. */
  readonly payload: Buffer;
  readonly size: number;
  /** How many earlier attempts the service may have accepted, those of earlier jobs of the chunk included. */
  readonly possiblySent: number;
  /** Of the service, for these attempts; oldest first, the newest ten. */
  readonly traceIds: readonly string[];
  /** The chunk of the list that it was cut from; itself, where it was not. */
  readonly root: number;
  readonly delivery: DeliveryPolicy;
  /** Whether a rejected chunk may be split to find the contact that causes the rejection. */
  readonly bisect: boolean;
  /** Milliseconds until its deadline passes, by the clock of Redis; absent where it has none. */
  readonly msToDeadline?: number;
}

/** The claim settled the chunk: its deadline has passed, or it is unknown and must not or cannot be sent. */
export interface ClaimedLate {
  readonly kind: 'expired' | 'parked';
  readonly size: number;
  /** How many attempts the service may have accepted. */
  readonly possiblySent: number;
  readonly code: string;
}

/** What an attempt has made of a chunk: the service accepts or refuses all of its contacts together. */
export type Settlement =
  /** Their rows in the list, and the trace id of the service. */
  | { readonly kind: 'accepted'; readonly rows?: string; readonly traceId?: string }
  /** To be tried again. The service may have accepted them: under at-most-once they become unknown instead. */
  | { readonly kind: 'back'; readonly possiblySent: boolean }
  | {
      readonly kind: 'failed';
      readonly state: 'rejected' | 'unknown' | 'expired';
      readonly code: string;
      /** The service's message, with phone numbers masked. */
      readonly message: string;
      readonly rows?: string;
    };

/** Of contacts that waited, possibly sent, when their batch was cancelled. */
export const POSSIBLY_SENT_AT_CANCEL = {
  state: 'unknown',
  code: 'OUTCOME_UNKNOWN',
  message: 'the batch was cancelled before the service answered',
} as const;

export const allAccepted = (): Settlement => ({ kind: 'accepted' });

export const allBack = (possiblySent: boolean): Settlement => ({ kind: 'back', possiblySent });

type Failed = Extract<Settlement, { readonly kind: 'failed' }>;

export const allFailed = (state: Failed['state'], code: string, message: string): Failed => ({
  kind: 'failed',
  state,
  code,
  message,
});

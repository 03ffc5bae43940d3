import type { DeliveryPolicy } from '../../contracts/outcome.ts';

/** Answer to a claim of a chunk. Nothing may be sent unless `kind` is `send`. */
export type Claim =
  | {
      readonly kind: 'send';
      /** JSON of the request body without its contacts. */
      readonly frame: string;
      /** The contacts; see chunk-payload.ts. */
      readonly payload: Buffer;
      /** Number of contacts. */
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
  | { readonly kind: 'later'; readonly afterMs: number }
  | ClaimedLate
  | { readonly kind: 'lost' | 'gone' | 'paused' | 'cancelled' | 'settled' };

/** The claim settled the chunk: its deadline has passed, or it is unknown and must not or cannot be sent. */
export interface ClaimedLate {
  readonly kind: 'expired' | 'parked';
  /** Number of contacts. */
  readonly size: number;
  /** How many attempts the service may have accepted. */
  readonly possiblySent: number;
  readonly code: string;
}

/**
 * Result of an attempt for the contacts of a chunk. The parts add up to the chunk; each part that is
 * smaller than the chunk carries the payload of its own contacts.
 */
export interface Settlement {
  /** Contacts that the service accepted. */
  readonly accepted: number;
  /** Contacts to try again. */
  readonly rest?: {
    readonly size: number;
    /** Default: the payload of the chunk. */
    readonly payload?: Buffer;
    /** The service may have accepted them. Under at-most-once they become unknown instead. */
    readonly possiblySent: boolean;
  };
  /**
   * Contacts to try again that this attempt did not send, beside contacts of which it is unknown: they become a
   * chunk of their own, with the history that the chunk had before, so that each chunk has one history.
   */
  readonly split?: { readonly size: number; readonly payload: Buffer };
  readonly failed: readonly FailedPart[];
}

/** Contacts that were not accepted, all for the same reason. */
export interface FailedPart {
  readonly state: 'rejected' | 'unknown' | 'expired';
  readonly size: number;
  readonly code: string;
  /** The service's message, with phone numbers masked. */
  readonly message: string;
  /** Default: the payload of the chunk. */
  readonly payload?: Buffer;
}

/** Of contacts that waited, possibly sent, when their batch was cancelled. */
export const POSSIBLY_SENT_AT_CANCEL = {
  state: 'unknown',
  code: 'OUTCOME_UNKNOWN',
  message: 'the batch was cancelled before the service answered',
} as const;

/** The whole chunk was accepted. */
export const allAccepted = (size: number): Settlement => ({ accepted: size, failed: [] });

/** The whole chunk is tried again. */
export const allBack = (size: number, possiblySent: boolean): Settlement => ({
  accepted: 0,
  rest: { size, possiblySent },
  failed: [],
});

/** The whole chunk failed. */
export const allFailed = (
  size: number,
  state: FailedPart['state'],
  code: string,
  message: string,
): Settlement => ({ accepted: 0, failed: [{ state, size, code, message }] });

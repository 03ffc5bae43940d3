import { z } from 'zod';
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

const size = z.int().min(1);
const payload = z.custom<Buffer>((value) => Buffer.isBuffer(value));

/** Contacts that were not accepted, all for the same reason. */
const failedPart = z.object({
  state: z.enum(['rejected', 'unknown', 'expired']),
  size,
  code: z.string(),
  /** The service's message, with phone numbers masked. */
  message: z.string(),
  /** Rows of the list, as text. */
  rows: z.string().exactOptional(),
  /** Default: the payload of the chunk. */
  payload: payload.exactOptional(),
});
export type FailedPart = Readonly<z.infer<typeof failedPart>>;

/**
 * Result of an attempt for the contacts of a chunk. The parts add up to the chunk; each part that is
 * smaller than the chunk carries the payload of its own contacts.
 */
export const settlementSchema = z.object({
  /** Contacts that the service accepted. */
  accepted: z.int().min(0),
  /** Their rows in the list, and the trace id of the service. */
  as: z.object({ rows: z.string(), traceId: z.string() }).exactOptional(),
  rest: z
    .object({
      size,
      payload: payload.exactOptional(),
      /** The service may have accepted them. Under at-most-once they become unknown instead. */
      possiblySent: z.boolean(),
    })
    .exactOptional(),
  /**
   * Contacts that this attempt did not send, beside contacts of which it is unknown, or the halves of a refused chunk:
   * each becomes a chunk of its own, with the history that the chunk had before. Without a size: all that are left.
   */
  split: z.array(z.object({ size: size.exactOptional(), payload })).exactOptional(),
  /**
   * The service refuses the chunk, perhaps because of one of its contacts: its parts know that they were cut from it.
   */
  isRefused: z.literal(true).exactOptional(),
  failed: z.array(failedPart),
});
export type Settlement = Readonly<z.infer<typeof settlementSchema>>;

/** Of contacts that waited, possibly sent, when their batch was cancelled. */
export const POSSIBLY_SENT_AT_CANCEL = {
  state: 'unknown',
  code: 'OUTCOME_UNKNOWN',
  message: 'the batch was cancelled before the service answered',
} as const;

export const allAccepted = (size: number): Settlement => ({ accepted: size, failed: [] });

export const allBack = (size: number, possiblySent: boolean): Settlement => ({
  accepted: 0,
  rest: { size, possiblySent },
  failed: [],
});

export const allFailed = (
  size: number,
  state: FailedPart['state'],
  code: string,
  message: string,
): Settlement => ({ accepted: 0, failed: [{ state, size, code, message }] });

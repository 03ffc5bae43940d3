import type { DeliveryPolicy } from '../../contracts/outcome.ts';

/**
 * The state of a chunk, stored as four bits.
 *
 * - `none`: not stored.
 * - `pending`: stored, not being sent. `pending-possibly-sent`: the same after an attempt with an unknown outcome; the
 *   service may have accepted it. In a cancelled batch both are final: the contacts count as cancelled and as unknown.
 * - `sending`, `sending-possibly-sent`: claimed by an attempt.
 * - `settled`: final. The counters of the batch include its accepted contacts, the failures of the batch contain the
 *   others.
 *
 * A claim, by an attempt that owns the job, leads from `pending` to `sending` and from `pending-possibly-sent` to
 * `sending-possibly-sent`. If the chunk is claimed already, that attempt crashed: under at-most-once the chunk is
 * settled as unknown; under at-least-once it becomes `sending-possibly-sent`, or `pending-possibly-sent` if the batch
 * is paused, cancelled or must wait for its rate; settled as unknown where it was possibly sent more often than the
 * worker's UNKNOWN_RESENDS. After the deadline the chunk is settled: as unknown if possibly sent, else as expired.
 *
 * A settlement leads from `sending` to `settled`, back to `pending`, or to `pending-possibly-sent` if the outcome is
 * unknown (under at-most-once: settled as unknown). From `sending-possibly-sent` it goes back to
 * `pending-possibly-sent`, and a rejection counts as unknown: the earlier attempt may have been accepted. An acceptance
 * that comes late leads from `sending-possibly-sent` and `pending-possibly-sent` to `settled`, whichever attempt reports
 * it.
 *
 * A chunk that the service refuses, perhaps because of one contact, is halved: it is `settled` without contacts, and
 * two new chunks have them, `pending` or `pending-possibly-sent` as it was claimed.
 *
 * A redrive does not change a settled chunk: it creates a new one.
 */
const CHUNK_STATES = [
  'none',
  'pending',
  'pending-possibly-sent',
  'sending',
  'sending-possibly-sent',
  'settled',
] as const;

export type ChunkState = (typeof CHUNK_STATES)[number];

export const stateNumber = (state: ChunkState): number => CHUNK_STATES.indexOf(state);

export const stateOf = (number: number): ChunkState => CHUNK_STATES[number] ?? 'none';

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

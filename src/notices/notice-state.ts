import type { DeliveryPolicy } from '../contracts/outcome.ts';
import type { HoldKind } from '../contracts/hold.ts';
import type { STAGES } from './ended.ts';

/**
 * State of a single notice:
 *
 * - `pending`: it waits; the reason is {@link PendingReason}.
 * - `sending`: a worker has it. It may be sent at any moment.
 * - `accepted`: the service accepted it, or an operator decided so.
 * - `rejected`: the service refused it, or its attempts are used up, and it was never possibly sent.
 * - `unknown`: it was possibly sent; the service may or may not have accepted it.
 * - `expired`: its `expiresAt` passed before it was sent.
 * - `cancelled`: it was cancelled and will not be sent, or an operator discarded it.
 * - `not-kept`: nothing is stored under this id (any more): see {@link Retention}.
 */
export const NOTICE_STATES = [
  'pending',
  'sending',
  'accepted',
  'rejected',
  'unknown',
  'expired',
  'cancelled',
  'not-kept',
] as const;

/** Name of a state. */
export type NoticeState = (typeof NOTICE_STATES)[number];

/**
 * Why a notice is pending, with what is known about the end of it. Times are milliseconds since the epoch.
 *
 * - `delayed`: it is not due yet, because of `delay` or `sendAt`, or between two attempts.
 * - `sending-hours`: those of its template are closed (SEND_WINDOWS).
 * - `held`: sending is stopped for the whole account.
 * - `rate-limited`: the account's rate limit is used up for the moment.
 * - `waiting`: for a free worker.
 */
export type PendingReason =
  | { readonly reason: 'delayed'; readonly until: number }
  | {
      readonly reason: 'sending-hours';
      readonly until: number;
      /** That time where the hours count: `08:00 (Asia/Seoul)`. */
      readonly opens: string;
    }
  | {
      readonly reason: 'held';
      readonly hold: HoldKind;
      readonly since: number;
      /** What the hold means. */
      readonly meaning: string;
      /** What to do about it. */
      readonly remedy: string;
    }
  | { readonly reason: 'rate-limited' }
  | { readonly reason: 'waiting' };

/** What is known of a notice. Times are Redis time or a producer's, in milliseconds since the epoch. */
export interface NoticeView {
  readonly id: string;
  readonly state: NoticeState;
  /** Present while it is pending. */
  readonly pending?: PendingReason;
  /** Template code; absent where nothing is kept. */
  readonly template?: string;
  /** Number of contacts; 0 where nothing is kept. */
  readonly contacts: number;
  readonly delivery?: DeliveryPolicy;
  /** Attempts that were made and counted, since it was queued or sent again. */
  readonly attempts: number;
  /**
   * How many attempts, also before it was sent again, the service may have accepted without an answer that proves it.
   * Sent again, it may arrive so many times more.
   */
  readonly possiblySent: number;
  /** The service's trace ids for those of them that it answered, oldest first: the newest ten. */
  readonly traceIds?: readonly string[];
  /** Of an unknown one: the last known stage of its last attempt. */
  readonly stage?: (typeof STAGES)[number];
  /** When it was queued. */
  readonly enqueuedAt?: number;
  /** When the last attempt started. */
  readonly startedAt?: number;
  /** When it ended. */
  readonly endedAt?: number;
  /** Latest time of sending. */
  readonly expiresAt?: number;
  /** The code of the service, or one of `ERROR_CODES`, of the last attempt that was not accepted. */
  readonly code?: string;
  /** Status and message of the service of that attempt, with phone numbers masked. */
  readonly message?: string;
  /** What to do about it. */
  readonly remedy?: string;
  /** For an accepted one: false where its acceptance could not be read completely. */
  readonly confirmed?: boolean;
  /** How long it is kept once it has ended; absent in lists. */
  readonly kept?: Retention;
}

/** How long ended notices are kept, as the worker that started last is configured; absent before the first start. */
export interface Retention {
  /** Accepted ones, in milliseconds (KEEP_ACCEPTED_MS). */
  readonly acceptedMs: number;
  /** The most accepted ones that are kept, whatever their age; as many cancelled and as many expired ones. */
  readonly acceptedCount: number;
  /** All others, in milliseconds (KEEP_FAILED_MS). */
  readonly failedMs: number;
}

/** Names a notice: its id, or the idempotency key with which it was sent. */
export type NoticeRef = string | { readonly idempotencyKey: string };

/**
 * What became of a request to cancel:
 *
 * - `cancelled`: it was not sent and will not be, because of this request or an earlier one.
 * - `sending`: a worker has it. It may be sent at any moment; try again, or look up what became of it.
 * - `possibly-sent`: it waits for another attempt, and an earlier one may have been accepted. It is not
 *   cancelled: that it was not sent would not be true.
 * - `accepted`, `rejected`, `unknown`, `expired`, `not-kept`: it had ended before, as {@link NoticeState}.
 */
export const CANCEL_ANSWERS = [
  'cancelled',
  'sending',
  'possibly-sent',
  'accepted',
  'rejected',
  'unknown',
  'expired',
  'not-kept',
] as const;

/** Name of such an answer. */
export type CancelAnswer = (typeof CANCEL_ANSWERS)[number];

/** Options of cancelling. */
export interface CancelOptions {
  /**
   * Releases the idempotency key of a notice that is cancelled, so that it can be sent anew with the same key.
   * @default false: a repeated call with the key answers the cancelled notice and sends nothing
   */
  readonly releaseKey?: boolean | undefined;
}

/** Result of cancelling. */
export interface CancelReport {
  /** Id of the notice; empty where an idempotency key is not in use. */
  readonly id: string;
  /** True only if it was not sent and will not be. */
  readonly cancelled: boolean;
  readonly answer: CancelAnswer;
  /** Present where `releaseKey` released its idempotency key. */
  readonly keyReleased?: boolean;
}

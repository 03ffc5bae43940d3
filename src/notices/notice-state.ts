import { z } from 'zod';
import { count, time, unknownAttempt, type Answer } from '../contracts/answer.ts';
import { holdKind } from '../contracts/hold.ts';
import { DELIVERY_POLICIES, END_STATES } from '../contracts/outcome.ts';
import { STAGES } from './ended.ts';

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
 * - `suppressed`: all its contacts were on the do-not-send list when it was to be sent.
 * - `not-kept`: nothing is stored under this id (any more): see {@link Retention}.
 */
export const NOTICE_STATES = ['pending', 'sending', ...END_STATES, 'not-kept'] as const;

export type NoticeState = (typeof NOTICE_STATES)[number];

const pending = z.discriminatedUnion('reason', [
  z
    .object({ reason: z.literal('delayed'), until: time })
    .describe('not due yet: because of `delay` or `sendAt`, or between two attempts'),
  z
    .object({
      reason: z.literal('sending-hours'),
      until: time,
      opens: z.string().describe('that time where the hours count: `08:00 (Asia/Seoul)`'),
    })
    .describe('the sending hours of its template are closed'),
  z
    .object({
      reason: z.literal('held'),
      hold: holdKind,
      since: time,
      meaning: z.string().describe('what the hold means'),
      remedy: z.string().describe('what to do about it'),
    })
    .describe('sending is stopped for the whole account'),
  z
    .object({ reason: z.literal('rate-limited') })
    .describe('the rate limit of the account is used up for the moment'),
  z.object({ reason: z.literal('waiting') }).describe('for a free worker'),
]);

/** Why a notice is pending, with what is known about the end of it. */
export type PendingReason = Answer<z.output<typeof pending>>;

const retention = z.object({
  acceptedMs: count.describe('accepted ones (KEEP_ACCEPTED_MS)'),
  acceptedCount: count.describe('the most accepted ones that are kept, whatever their age'),
  failedMs: count.describe('all others (KEEP_FAILED_MS)'),
});

/** How long ended notices are kept, as the worker that started last is configured; absent before the first start. */
export type Retention = Answer<z.output<typeof retention>>;

/** What is known of a notice. */
export const noticeAnswer = z
  .object({
    id: z.string(),
    state: z.enum(NOTICE_STATES),
    pending: pending.exactOptional().describe('why it waits; present while it is pending'),
    template: z.string().exactOptional().describe('absent where nothing is kept'),
    contacts: count.describe('without those that were left out; 0 where nothing is kept'),
    suppressed: count
      .exactOptional()
      .describe('left out of the last request: on the do-not-send list; absent for none'),
    delivery: z.enum(DELIVERY_POLICIES).exactOptional(),
    attempts: count.describe('that were counted, since it was queued or sent again'),
    possiblySent: count.describe(
      'attempts, also before it was sent again, that the service may have accepted',
    ),
    traceIds: z
      .array(z.string())
      .exactOptional()
      .describe('of the service, for those of them that it answered, oldest first; the newest ten'),
    unknownAttempts: z
      .array(unknownAttempt)
      .exactOptional()
      .describe('the newest ten before the last attempt that ended unknown, oldest first'),
    stage: z
      .enum(STAGES)
      .exactOptional()
      .describe('of an unknown one: how far its last attempt came'),
    enqueuedAt: time.exactOptional(),
    startedAt: time.exactOptional().describe('start of the last attempt'),
    endedAt: time.exactOptional(),
    expiresAt: time.exactOptional(),
    code: z.string().exactOptional().describe('of the last attempt that was not accepted'),
    message: z.string().exactOptional().describe('of the service, with phone numbers masked'),
    remedy: z.string().exactOptional().describe('what to do about it'),
    confirmed: z
      .boolean()
      .exactOptional()
      .describe('false where the answer that accepted it could not be read completely'),
    kept: retention
      .exactOptional()
      .describe(
        'how long ended notices are kept; absent in lists, and before the first start of a worker',
      ),
  })
  .meta({ id: 'NoticeState' });

/** What is known of a notice. Times are Redis time or a producer's, in milliseconds since the epoch. */
export type NoticeView = Answer<z.output<typeof noticeAnswer>>;

/** Names a notice: its id, or the idempotency key with which it was sent. */
export type NoticeRef = string | { readonly idempotencyKey: string };

/**
 * What became of a request to cancel:
 *
 * - `cancelled`: it was not sent and will not be, because of this request or an earlier one.
 * - `sending`: a worker has it. It may be sent at any moment; try again, or look up what became of it.
 * - `possibly-sent`: it waits for another attempt, and an earlier one may have been accepted. It is not
 *   cancelled: that it was not sent would not be true.
 * - `accepted`, `rejected`, `unknown`, `expired`, `suppressed`, `not-kept`: it had ended before, as {@link NoticeState}.
 */
export const CANCEL_ANSWERS = [
  'cancelled',
  'sending',
  'possibly-sent',
  'accepted',
  'rejected',
  'unknown',
  'expired',
  'suppressed',
  'not-kept',
] as const;

export type CancelAnswer = (typeof CANCEL_ANSWERS)[number];

export interface CancelOptions {
  /**
   * Releases the idempotency key of a notice that is cancelled, so that it can be sent anew with the same key.
   * @default false: a repeated call with the key answers the cancelled notice and sends nothing
   */
  readonly releaseKey?: boolean | undefined;
}

/** What became of a request to cancel. */
export const cancelAnswer = z.object({
  id: z.string().describe('id of the notice; empty where an idempotency key is not in use'),
  cancelled: z.boolean().describe('true only if no contact of it was sent or will be'),
  answer: z.enum(CANCEL_ANSWERS),
  keyReleased: z
    .boolean()
    .exactOptional()
    .describe('present where `releaseKey` released its idempotency key'),
});

export type CancelReport = Answer<z.output<typeof cancelAnswer>>;

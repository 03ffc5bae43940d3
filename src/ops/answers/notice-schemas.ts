import { z } from 'zod';
import { DELIVERY_POLICIES } from '../../contracts/outcome.ts';
import type { Receipt } from '../../contracts/notice.ts';
import { STAGES } from '../../notices/ended.ts';
import {
  CANCEL_ANSWERS,
  NOTICE_STATES,
  type CancelReport,
  type NoticeView,
} from '../../notices/notice-state.ts';
import { holdKind } from './account-schemas.ts';
import { count, named, time } from './fields.ts';

/** What `send` answers. */
export const receiptAnswer = named(
  'Receipt',
  z.object({
    id: z.string().describe('id of the notice'),
    contacts: count,
    duplicate: z
      .boolean()
      .describe('whether it was queued before with the same idempotency key; nothing is queued'),
  }),
) satisfies z.ZodType<Receipt>;

const state = z.enum(NOTICE_STATES);

const pending = z.discriminatedUnion('reason', [
  z.object({ reason: z.literal('delayed'), until: time }),
  z.object({
    reason: z.literal('sending-hours'),
    until: time,
    opens: z.string().describe('that time where the hours count: `08:00 (Asia/Seoul)`'),
  }),
  z.object({
    reason: z.literal('held'),
    hold: holdKind,
    since: time,
    meaning: z.string(),
    remedy: z.string(),
  }),
  z.object({ reason: z.literal('rate-limited') }),
  z.object({ reason: z.literal('waiting') }),
]);

/** What is known of a notice. */
export const noticeAnswer = z
  .object({
    id: z.string(),
    state,
    pending: pending.exactOptional().describe('why it waits; present while it is pending'),
    template: z.string().exactOptional(),
    contacts: count,
    delivery: z.enum(DELIVERY_POLICIES).exactOptional(),
    attempts: count,
    possiblySent: count.describe(
      'attempts, also before it was sent again, that the service may have accepted',
    ),
    traceIds: z
      .array(z.string())
      .exactOptional()
      .describe('of the service, for those of them that it answered, oldest first; the newest ten'),
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
    remedy: z.string().exactOptional(),
    confirmed: z
      .boolean()
      .exactOptional()
      .describe('false where the answer that accepted it could not be read completely'),
    kept: z
      .object({ acceptedMs: count, acceptedCount: count, failedMs: count })
      .exactOptional()
      .describe(
        'how long ended notices are kept; absent in lists, and before the first start of a worker',
      ),
  })
  .meta({ id: 'NoticeState' }) satisfies z.ZodType<NoticeView>;

/** What became of a request to cancel. */
export const cancelAnswer = z.object({
  id: z.string(),
  cancelled: z.boolean().describe('true only if no contact of it was sent or will be'),
  answer: z.enum(CANCEL_ANSWERS),
  keyReleased: z
    .boolean()
    .exactOptional()
    .describe('present where `releaseKey` released its idempotency key'),
}) satisfies z.ZodType<CancelReport>;

import { z } from 'zod';
import { DELIVERY_POLICIES } from '../../../contracts/delivery.ts';
import { HOLDS, type HoldKind } from '../../../contracts/hold.ts';
import {
  CANCEL_ANSWERS,
  NOTICE_STATES,
  type CancelReport,
  type NoticeJob,
  type NoticeView,
} from '../../../notices/notice-state.ts';
import { lookUpNotice } from '../../../notices/look-up.ts';
import { idempotencyKey, noticeId } from '../../../notices/notice-ref.ts';
import { cancelAudited } from '../../notice-actions.ts';
import { json, route, type Route } from '../http/route.ts';
import { why } from './inputs.ts';

const count = z.int().min(0);
const time = count.describe('milliseconds since the epoch');
const kinds = Object.keys(HOLDS) as [HoldKind, ...HoldKind[]];
const state = z.enum(NOTICE_STATES);

const pending = z.discriminatedUnion('reason', [
  z.object({ reason: z.literal('delayed'), until: time }),
  z.object({
    reason: z.literal('held'),
    hold: z.enum(kinds),
    since: time,
    meaning: z.string(),
    remedy: z.string(),
  }),
  z.object({ reason: z.literal('rate-limited') }),
  z.object({ reason: z.literal('waiting') }),
]);

const job = {
  id: z.string(),
  state,
  pending: pending.exactOptional().describe('why it waits; present while it is pending'),
  template: z.string().exactOptional(),
  contacts: count,
  delivery: z.enum(DELIVERY_POLICIES).exactOptional(),
  attempts: count,
  possiblySent: count.describe('attempts that the service may have accepted'),
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
  contactStates: z
    .array(z.object({ contact: z.string().describe('masked'), state }))
    .exactOptional()
    .describe('present where the service accepted some of the contacts'),
  earlier: z
    .array(
      z.object({
        at: time.describe('when it was sent again'),
        endedAt: time.describe('when that run had ended'),
        state: z.enum(['rejected', 'unknown']),
        code: z.string(),
        attempts: count,
        possiblySent: count,
      }),
    )
    .exactOptional()
    .describe('runs before it was sent again, oldest first'),
};

/** One job of a notice, or a notice of one job. */
export const jobAnswer = z.object(job) satisfies z.ZodType<NoticeJob>;

const noticeAnswer = z
  .object({
    ...job,
    jobs: z.array(z.object(job)).exactOptional().describe('present where it has several jobs'),
    kept: z
      .object({ acceptedMs: count, acceptedCount: count, failedMs: count })
      .exactOptional()
      .describe('how long ended notices are kept; absent before the first start of a worker'),
  })
  .meta({ id: 'NoticeState' }) satisfies z.ZodType<NoticeView>;

/** Path parameters of one single notice. */
export const noticeParams = z.strictObject({ id: noticeId });

const cancelAnswer = z.object({
  id: z.string(),
  cancelled: z.boolean().describe('true only if no contact of it was sent or will be'),
  answer: z.enum(CANCEL_ANSWERS),
  jobs: z
    .array(z.object({ id: z.string(), answer: z.enum(CANCEL_ANSWERS) }))
    .exactOptional()
    .describe('present where it has several jobs: those that waited are cancelled'),
}) satisfies z.ZodType<CancelReport>;

const cancelBody = {
  why,
  releaseKey: z
    .boolean()
    .optional()
    .describe('releases its idempotency key, so that it can be sent anew with the same key'),
};

/** Following and cancelling single notices. */
export const NOTICE_LIFE_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/v1/notices/:id',
    needs: 'any',
    kind: 'api',
    summary:
      'The state of a single notice, by its id or that of one of its jobs; `not-kept` where there is none.',
    params: noticeParams,
    perMinute: ({ config }) => config.noticesPerMinute,
    answers: {
      200: { says: 'Its state. It contains no phone number in full.', schema: noticeAnswer },
    },
    handle: async ({ params: { id } }, context) => json(await lookUpNotice(context, id)),
  }),
  route({
    method: 'GET',
    path: '/api/v1/notices',
    needs: 'any',
    kind: 'api',
    summary: 'The state of the single notice that was sent with an idempotency key.',
    query: z.strictObject({ idempotencyKey }),
    perMinute: ({ config }) => config.noticesPerMinute,
    answers: { 200: { says: 'As `GET /api/v1/notices/{id}`.', schema: noticeAnswer } },
    handle: async ({ query }, context) => json(await lookUpNotice(context, query)),
  }),
  route({
    method: 'POST',
    path: '/api/v1/notices/:id/cancel',
    needs: 'sender-or-operator',
    kind: 'api',
    summary: 'Cancels a single notice that waits. Cancelling twice answers the same.',
    params: noticeParams,
    body: z.strictObject(cancelBody),
    perMinute: ({ config }) => config.noticesPerMinute,
    answers: { 200: { says: 'Whether it is cancelled, or why not.', schema: cancelAnswer } },
    handle: async ({ params: { id }, body, name }, context) =>
      json(await cancelAudited(context, id, body, { who: name, why: body.why })),
  }),
  route({
    method: 'POST',
    path: '/api/v1/notices/cancel',
    needs: 'sender-or-operator',
    kind: 'api',
    summary: 'Cancels the single notice that was sent with an idempotency key.',
    body: z.strictObject({ idempotencyKey, ...cancelBody }),
    perMinute: ({ config }) => config.noticesPerMinute,
    answers: { 200: { says: 'As `POST /api/v1/notices/{id}/cancel`.', schema: cancelAnswer } },
    handle: async ({ body, name }, context) => {
      const ref = { idempotencyKey: body.idempotencyKey };
      return json(await cancelAudited(context, ref, body, { who: name, why: body.why }));
    },
  }),
];

import { z } from 'zod';
import { lookUpNotice } from '../../../notices/look-up.ts';
import { idempotencyKey, noticeId } from '../../../notices/notice-ref.ts';
import { cancelAnswer, noticeAnswer } from '../../answers/notice-schemas.ts';
import type { CancelOptions, NoticeRef } from '../../../notices/notice-state.ts';
import { CANCEL_TEXT } from '../../notice-words.ts';
import { cancelAudited } from '../../notice-actions.ts';
import type { OpsContext } from '../ops-context.ts';
import { json, route, type Route, type RouteAnswer, type RouteCall } from '../http/route.ts';
import { why } from '../../operations/fields.ts';
import { keyAsked } from './key-scope.ts';

/** Path parameters of one single notice. */
export const noticeParams = z.strictObject({ id: noticeId });

/** An idempotency key, and whose it is. */
const keyInput = {
  idempotencyKey,
  apiKey: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe(
      'name of the API key that sent it. Default: for a sender its own, for others a key of the library',
    ),
};

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
    query: z.strictObject(keyInput),
    perMinute: ({ config }) => config.noticesPerMinute,
    answers: { 200: { says: 'As `GET /api/v1/notices/{id}`.', schema: noticeAnswer } },
    handle: async ({ query, who }, context) =>
      json(await lookUpNotice(context, keyAsked(who, query))),
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
    handle: (call, context) => cancelFor(call, context, call.params.id),
  }),
  route({
    method: 'POST',
    path: '/api/v1/notices/cancel',
    needs: 'sender-or-operator',
    kind: 'api',
    summary: 'Cancels the single notice that was sent with an idempotency key.',
    body: z.strictObject({ ...keyInput, ...cancelBody }),
    perMinute: ({ config }) => config.noticesPerMinute,
    answers: { 200: { says: 'As `POST /api/v1/notices/{id}/cancel`.', schema: cancelAnswer } },
    handle: (call, context) => cancelFor(call, context, keyAsked(call.who, call.body)),
  }),
];

/** Cancels, and records it. */
async function cancelFor(
  { name, body }: RouteCall<unknown, unknown, CancelOptions & { readonly why: string }>,
  context: OpsContext,
  ref: NoticeRef,
): Promise<RouteAnswer> {
  const report = await cancelAudited(context, ref, body, { who: name, why: body.why });
  return json(report, 200, `Notice ${report.id} ${CANCEL_TEXT[report.answer]}.`);
}

import { z } from 'zod';
import { MAX_HOLD_REASON } from '../../../contracts/hold.ts';
import { holdInForce, liftAuditedHold, placeAuditedHold } from '../../manual-hold.ts';
import { holdAnswer } from '../../answers/account-schemas.ts';
import { json, route, type Route } from '../http/route.ts';
import { why } from './inputs.ts';

const held = z.object({ hold: holdAnswer.nullable() });

/** The hold in force, and manual holds. */
export const HOLD_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/v1/hold',
    needs: 'viewer',
    kind: 'api',
    summary: 'The hold in force, with its reason, start, next probe and remedy.',
    answers: { 200: { says: 'The hold; null where the queue is not held.', schema: held } },
    handle: async (_call, context) => json({ hold: (await holdInForce(context)) ?? null }),
  }),
  route({
    method: 'POST',
    path: '/api/v1/hold/place',
    needs: 'operator',
    kind: 'api',
    summary: 'Holds the queue until the hold is lifted manually; requests in flight finish.',
    body: z.strictObject({ why: why.max(MAX_HOLD_REASON) }),
    answers: { 200: { says: 'The hold in force.', schema: held } },
    handle: async ({ body, name }, context) =>
      json({ hold: (await placeAuditedHold(context, { who: name, why: body.why })) ?? null }),
  }),
  route({
    method: 'POST',
    path: '/api/v1/hold/lift',
    needs: 'operator',
    kind: 'api',
    summary: 'Lifts the hold in force. If its cause persists, it comes back by itself.',
    body: z.strictObject({
      why: why.optional(),
      kind: holdAnswer.shape.kind
        .optional()
        .describe('the kind that was seen; no other one is lifted'),
    }),
    answers: {
      200: {
        says: 'The kind of the lifted hold; null where the queue was not held.',
        schema: z.object({ lifted: holdAnswer.shape.kind.nullable() }),
      },
      409: { says: 'A hold of another kind is in force.' },
    },
    handle: async ({ body, name }, context) => {
      const actor = { who: name, why: body.why ?? '' };
      const lifted = await liftAuditedHold(context, actor, body.kind);
      return json({ lifted: lifted ?? null });
    },
  }),
];

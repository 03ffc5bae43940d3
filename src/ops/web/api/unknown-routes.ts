import { z } from 'zod';
import { whyNotRedrive } from '../../../batch/failures/redrive-batch.ts';
import { BATCH_ID } from '../../../contracts/chunk-job.ts';
import { DELIVERY_POLICIES } from '../../../contracts/delivery.ts';
import { InputError, NoticeQueueError } from '../../../contracts/errors.ts';
import {
  RESOLUTIONS,
  resolveBatch,
  resolveNotices,
  type ResolveDecision,
  type ResolveReport,
} from '../../resolve-unknown.ts';
import { readUnknownOverview } from '../../unknown.ts';
import type { OpsContext } from '../ops-context.ts';
import { json, route, type Route } from '../http/route.ts';
import { requireBatch } from './batch-routes.ts';
import { queryNumber, why } from './inputs.ts';

/** Batches looked at for unknown contacts, the newest first. */
const MOST_BATCHES = 200;
const MOST_IDS = 500;
/** So long may one request decide; what is left then stays listed. */
const RESOLVE_MS = 20_000;

/** The desk where people decide on what may have been taken. */
export const UNKNOWN_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/v1/unknown',
    needs: 'viewer',
    kind: 'api',
    summary: 'Notices and contacts of batches whose outcome is unknown.',
    query: z.object({ limit: queryNumber(1, MOST_IDS, 100) }),
    answers: {
      200: {
        says: 'The oldest notices, and the batches.',
        schema: z.object({
          notices: z.array(
            z.looseObject({
              id: z.string(),
              at: z.int(),
              template: z.string(),
              contacts: z.int(),
              code: z.string(),
              stage: z.string(),
              delivery: z.enum(DELIVERY_POLICIES),
            }),
          ),
          listed: z.int().describe('notices in all'),
          batches: z.array(
            z.object({
              batch: z.string(),
              template: z.string(),
              contacts: z.int(),
              begunAt: z.int().describe('when its import began: milliseconds since the epoch'),
            }),
          ),
        }),
      },
    },
    handle: async ({ query: { limit } }, context) =>
      json(await readUnknownOverview(context, { notices: limit, batches: MOST_BATCHES })),
  }),
  route({
    method: 'POST',
    path: '/api/v1/unknown/resolve',
    needs: 'operator',
    kind: 'api',
    summary: 'Decides on notices by id, or on all that is unknown of one batch.',
    body: z.strictObject({
      as: z.enum(RESOLUTIONS),
      ids: z.array(z.string().min(1).max(200)).min(1).max(MOST_IDS).optional(),
      batch: z.string().regex(BATCH_ID).optional(),
      before: z
        .int()
        .optional()
        .describe('only what became unknown before: milliseconds since the epoch'),
      why,
    }),
    answers: {
      200: {
        says: 'What was done.',
        schema: z.object({
          resolved: z.int().describe('notices, or chunks and parts of chunks'),
          contacts: z.int(),
          gone: z.int().describe('not unknown (any more)'),
          late: z.int().describe('left, since their deadline has passed'),
          stopped: z.boolean().describe('it took too long: ask again for the rest'),
        }),
      },
      409: { says: 'The batch cannot be sent again as it stands.' },
    },
    handle: async ({ body: { as, ids, batch, before, why: words }, name, now }, context) => {
      if ((ids === undefined) === (batch === undefined)) {
        const problem = 'expected either ids or batch';
        throw new InputError('REQUEST_INVALID', [{ field: 'ids', problem }]);
      }
      const decision: ResolveDecision = { as, who: name, why: words };
      const signal = AbortSignal.any([context.closing, AbortSignal.timeout(RESOLVE_MS)]);
      if (batch !== undefined) {
        return json(await decideOnBatch(context, batch, before, decision, now, signal));
      }
      return json(await resolveNotices(context.redis, context.keys, ids ?? [], decision, signal));
    },
  }),
];

async function decideOnBatch(
  context: OpsContext,
  id: string,
  before: number | undefined,
  decision: ResolveDecision,
  now: number,
  signal: AbortSignal,
): Promise<ResolveReport> {
  const batch = await requireBatch(context, id);
  const reason = decision.as === 'resend' ? whyNotRedrive(batch, now) : undefined;
  if (reason !== undefined) {
    throw new NoticeQueueError('NOT_POSSIBLE', `Batch ${id} cannot be sent again: ${reason}.`);
  }
  return resolveBatch(context, batch, { before }, decision, signal);
}

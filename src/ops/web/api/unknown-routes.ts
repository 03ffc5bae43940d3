import { z } from 'zod';
import { withAbortSignal } from '../../../async/cancellation.ts';
import { Deadline } from '../../../async/deadline.ts';
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

/** The newest batches that are read for unknown contacts. */
const MAX_BATCHES = 200;
const MAX_IDS = 500;
/** Longest duration of a request in milliseconds; what is not resolved then stays listed. */
const RESOLVE_MS = 20_000;

/** Unknown outcomes, and resolving them. */
export const UNKNOWN_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/v1/unknown',
    needs: 'viewer',
    kind: 'api',
    summary: 'Notices and contacts of batches whose outcome is unknown.',
    query: z.object({ limit: queryNumber(1, MAX_IDS, 100) }),
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
              possiblySent: z
                .int()
                .describe(
                  'attempts that the service may have accepted; sent again, it may arrive once more',
                ),
            }),
          ),
          listed: z.int().describe('listed notices in all'),
          batches: z.array(
            z.object({
              batch: z.string(),
              template: z.string(),
              contacts: z.int(),
              begunAt: z.int().describe('when its import started: milliseconds since the epoch'),
            }),
          ),
        }),
      },
    },
    handle: async ({ query: { limit } }, context) =>
      json(await readUnknownOverview(context, { notices: limit, batches: MAX_BATCHES })),
  }),
  route({
    method: 'POST',
    path: '/api/v1/unknown/resolve',
    needs: 'operator',
    kind: 'api',
    summary: 'Resolves notices by id, or all unknown contacts of one batch.',
    body: z.strictObject({
      as: z.enum(RESOLUTIONS),
      ids: z.array(z.string().min(1).max(200)).min(1).max(MAX_IDS).optional(),
      batch: z.string().regex(BATCH_ID).optional(),
      before: z
        .int()
        .optional()
        .describe('only what became unknown before: milliseconds since the epoch'),
      why,
    }),
    answers: {
      200: {
        says: 'What was resolved.',
        schema: z.object({
          resolved: z.int().describe('notices, or chunks and parts of chunks'),
          contacts: z.int(),
          gone: z.int().describe('not unknown (any more)'),
          late: z.int().describe('not queued again, because their deadline has passed'),
          stopped: z.boolean().describe('it took too long: repeat the request for the rest'),
        }),
      },
      409: { says: 'The batch cannot be sent again in its phase.' },
    },
    handle: async ({ body: { as, ids, batch, before, why: words }, name, now }, context) => {
      if ((ids === undefined) === (batch === undefined)) {
        const problem = 'expected either ids or batch';
        throw new InputError('REQUEST_INVALID', [{ field: 'ids', problem }]);
      }
      const decision: ResolveDecision = { as, who: name, why: words };
      const deadline = new Deadline(RESOLVE_MS, context.closing);
      try {
        return await withAbortSignal(deadline, async (signal) =>
          json(
            await (batch === undefined
              ? resolveNotices(context.redis, context.keys, ids ?? [], decision, signal)
              : resolveInBatch(context, batch, before, decision, now, signal)),
          ),
        );
      } finally {
        deadline.close();
      }
    },
  }),
];

async function resolveInBatch(
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

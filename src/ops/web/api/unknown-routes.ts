import { z } from 'zod';
import { count } from '../../answers/fields.ts';
import { resolvedAnswer, unknownNotice, unknownOfBatch } from '../../answers/unknown-schemas.ts';
import { requireBatch } from '../../batch-actions.ts';
import { withAbortSignal } from '../../../async/cancellation.ts';
import { Deadline } from '../../../async/deadline.ts';
import { whyNotRedrive } from '../../../batch/failures/redrive-batch.ts';
import { InputError, NoticeQueueError } from '../../../contracts/errors.ts';
import { redisFailure } from '../../../redis/failure.ts';
import { resolveNotices, type ResolveDecision } from '../../resolve-unknown.ts';
import { RESOLUTIONS } from '../../unknown/resolutions.ts';
import { matchingNotices, readUnknown, type UnknownFilter } from '../../unknown.ts';
import { resolveSelected, type SelectedReport } from '../../unknown/resolve-selected.ts';
import { unknownCsv, unknownDownload } from '../../unknown/unknown-csv.ts';
import type { OpsContext } from '../ops-context.ts';
import { json, route, type Route } from '../http/route.ts';
import { csvDownload } from '../http/csv-download.ts';
import { queryNumber, why } from './inputs.ts';
import {
  FIND_UNKNOWN_PER_MINUTE,
  listUnknown,
  previewUnknown,
  recordSearch,
  unknownFields,
  unknownFilter,
  unknownQuery,
} from './unknown-selection.ts';

const MAX_IDS = 500;
/** Longest duration of a request in milliseconds; what is not resolved then stays listed. */
const RESOLVE_MS = 20_000;

const AT = z
  .int()
  .describe(
    'when it was read: as `before` of the decision it leaves out what became unknown later',
  );

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
        says: 'The oldest notices, and those of the newest 200 batches with unknown contacts.',
        schema: z.object({
          at: AT,
          notices: z.array(
            unknownNotice.extend({
              numbers: z
                .array(z.string())
                .describe('the first of them, masked; none where this server lacks the key'),
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
          allBatches: z
            .boolean()
            .describe('whether that is all; if not, older batches may have unknown contacts'),
        }),
      },
    },
    handle: async ({ query: { limit } }, context) => json(await listUnknown(context, limit)),
  }),
  route({
    method: 'GET',
    path: '/api/v1/unknown.csv',
    needs: 'operator',
    kind: 'api',
    summary:
      'The contacts whose outcome is unknown, with trace ids, to look them up at the service. It contains phone numbers; each download is recorded in the audit stream.',
    query: unknownQuery,
    answers: { 200: { says: 'The list.', type: 'text/csv' } },
    perMinute: 30,
    handle: async ({ query, name }, context) => {
      const filter = unknownFilter(query);
      const entry = unknownDownload(filter, { who: name, why: '' });
      return csvDownload(context, {
        entry,
        fileName: 'unknown.csv',
        produce: async (write) => ({ contacts: await unknownCsv(context, filter, write) }),
      });
    },
  }),
  route({
    method: 'POST',
    path: '/api/v1/unknown/preview',
    needs: 'viewer',
    kind: 'api',
    summary: 'What resolving with the same filter would decide; changes nothing.',
    reads: true,
    perMinute: FIND_UNKNOWN_PER_MINUTE,
    body: z.strictObject(unknownFields),
    answers: {
      200: {
        says: 'The preview.',
        schema: z.object({
          at: AT,
          contacts: count.describe('in all'),
          notices: count.describe('single notices'),
          batches: z.array(unknownOfBatch),
        }),
      },
    },
    handle: async ({ body, name }, context) => {
      const { at, contacts, found } = await previewUnknown(context, name, body);
      return json({ at, contacts, notices: found.notices.length, batches: found.batches });
    },
  }),
  route({
    method: 'POST',
    path: '/api/v1/unknown/resolve',
    needs: 'operator',
    kind: 'api',
    summary: 'Resolves notices by id, or everything that a filter selects.',
    body: z.strictObject({
      as: z.enum(RESOLUTIONS),
      ids: z.array(z.string().min(1).max(200)).min(1).max(MAX_IDS).optional(),
      ...unknownFields,
      why,
    }),
    answers: {
      200: {
        says: 'What was resolved.',
        schema: resolvedAnswer,
      },
      409: { says: 'The batch cannot be sent again in its phase.' },
    },
    handle: async ({ body: { as, ids, why: words, ...fields }, name, now }, context) => {
      const { before, ...others } = fields;
      const selects = Object.values(others).some((field) => field !== undefined);
      if (ids === undefined ? !selects && before === undefined : selects) {
        const problem = 'expected either ids or a filter, such as batch or code';
        throw new InputError('REQUEST_INVALID', [{ field: 'ids', problem }]);
      }
      const filter = unknownFilter(fields);
      await mayResend(context, as, filter, now);
      const decision: ResolveDecision = { as, who: name, why: words };
      await recordSearch(context, filter, decision);
      const deadline = new Deadline(RESOLVE_MS, context.closing);
      try {
        return await withAbortSignal(deadline, async (signal) =>
          json(await resolve(context, ids, filter, decision, signal)),
        );
      } finally {
        deadline.close();
      }
    },
  }),
];

async function resolve(
  context: OpsContext,
  ids: readonly string[] | undefined,
  filter: UnknownFilter,
  decision: ResolveDecision,
  signal: AbortSignal,
): Promise<SelectedReport> {
  if (ids === undefined) return resolveSelected(context, filter, decision, signal);
  const { redis, keys } = context;
  const chosen = [...new Set(ids)];
  const named = await readUnknown(redis, keys, chosen).catch((error: unknown) => {
    throw redisFailure(error);
  });
  const found = await matchingNotices(context, named, filter);
  const done = await resolveNotices(redis, keys, found, decision, signal);
  return { ...done, gone: done.gone + chosen.length - found.length, refused: [] };
}

/** @throws NoticeQueueError NOT_FOUND for a batch that does not exist, NOT_POSSIBLE where it cannot be sent again */
async function mayResend(
  context: OpsContext,
  as: ResolveDecision['as'],
  { batch: id }: UnknownFilter,
  now: number,
): Promise<void> {
  if (id === undefined) return;
  const batch = await requireBatch(context, id);
  const reason = as === 'resend' ? whyNotRedrive(batch, now) : undefined;
  if (reason !== undefined) {
    throw new NoticeQueueError('NOT_POSSIBLE', `Batch ${id} cannot be sent again: ${reason}.`);
  }
}

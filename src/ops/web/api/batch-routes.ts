import { z } from 'zod';
import { NoticeQueueError } from '../../../contracts/errors.ts';
import {
  findBatches,
  readBatchFilter,
  type BatchFilter,
} from '../../../batch/ledger/batch-filter.ts';
import { readMotion } from '../../../batch/ledger/batch-motion.ts';
import { surroundingsOf } from '../../../batch/ledger/blocked-reason.ts';
import { BATCH_PHASES } from '../../../batch/ledger/batch-record.ts';
import { DURATION_EXAMPLES } from '../../../format/duration.ts';
import { TIME_FORMAT } from '../../../format/time.ts';
import { readBatchSnapshot } from '../../batch-snapshot.ts';
import {
  controlBatch,
  BATCH_CONTROLS,
  WHY_NOT_CONTROLLED,
  type BatchControl,
} from '../../batch-actions.ts';
import { FleetReader } from '../../snapshot.ts';
import { batchAnswer } from '../answers.ts';
import { batchToJson } from '../batch-json.ts';
import type { OpsContext } from '../ops-context.ts';
import { json, route, type Route } from '../http/route.ts';
import { batchParams, queryNumber, why } from './inputs.ts';

/** @throws NoticeQueueError NOT_FOUND */
export async function requireBatch({ ledger }: Pick<OpsContext, 'ledger'>, id: string) {
  const batch = await ledger.read(id);
  if (batch === undefined) throw noSuchBatch(id);
  return batch;
}

/** The error for a batch that does not exist. */
export function noSuchBatch(id: string): NoticeQueueError {
  return new NoticeQueueError('NOT_FOUND', `No batch named "${id}" (it may have been deleted).`);
}

const SUMMARIES: Readonly<Record<BatchControl, string>> = {
  pause: 'Pauses a batch; requests in flight finish.',
  resume: 'Resumes a paused batch.',
  cancel: 'Cancels a batch: pending contacts are never sent. It cannot be undone.',
};

const text = z.string().max(40, 'expected at most 40 characters');

/** The query that selects batches; {@link readBatchFilter} reads it. */
export const batchFilterFields = {
  phase: text.optional().describe(`only in this phase: ${BATCH_PHASES.join(', ')}`),
  within: text
    .optional()
    .describe(`only created within this duration before now, such as ${DURATION_EXAMPLES}`),
  since: text.optional().describe(`only created at this time or later: ${TIME_FORMAT}`),
  before: text.optional().describe('only created before this time'),
  offset: queryNumber(0, 1_000_000, 0),
};

/** Batches: the list, one batch, and controlling it. */
export const BATCH_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/v1/batches',
    needs: 'viewer',
    kind: 'api',
    summary: 'The list of batches, newest first.',
    query: z.object({ ...batchFilterFields, limit: queryNumber(1, 200, 50) }),
    answers: {
      200: {
        says: 'A page of the list.',
        schema: z.object({
          batches: z.array(batchAnswer),
          total: z.int().describe('batches created in that time, of every phase'),
          next: z.int().nullable().describe('offset of the next page; null on the last'),
        }),
      },
    },
    handle: async ({ query, now }, context) =>
      json(await listBatches(context, readBatchFilter(query, now), query, now)),
  }),
  route({
    method: 'GET',
    path: '/api/v1/batches/:id',
    needs: 'viewer',
    kind: 'api',
    summary: 'The state of a batch, and why nothing of it is sent.',
    params: batchParams,
    answers: {
      200: {
        says: 'The batch.',
        schema: z.object({
          batch: batchAnswer,
          standstill: z
            .string()
            .nullable()
            .describe('why nothing is sent; null where the batch is sent or over'),
          importStopped: z
            .boolean()
            .describe('whether its import stopped before the end of the list and can be continued'),
        }),
      },
    },
    handle: async ({ params: { id }, now }, context) => {
      const found = await readBatchSnapshot(context, id);
      if (found === undefined) throw noSuchBatch(id);
      return json({
        batch: batchToJson(found.batch, now, found),
        standstill: found.standstill ?? null,
        importStopped: found.importStopped,
      });
    },
  }),
  ...BATCH_CONTROLS.map(controlRoute),
];

/** Batches that are read for one answer at most; the cost of a rare phase is bounded by it. */
const MOST_READ = 500;

/** Reads a page of batches with one command for each of them and each worker, and five more. */
export async function listBatches(
  { ledger, redis, keys }: Pick<OpsContext, 'ledger' | 'redis' | 'keys'>,
  filter: BatchFilter,
  { limit, offset }: { readonly limit: number; readonly offset: number },
  now: number,
) {
  const page = { limit, offset, mostRead: MOST_READ };
  const [{ batches, total, next }, fleet] = await Promise.all([
    findBatches(ledger, filter, page),
    new FleetReader({ redis, keys }).read('workers', 'hold', 'templateHolds', 'now'),
  ]);
  // Whether it is being imported decides only what is said of a batch without pending contacts.
  const around = surroundingsOf(fleet, true);
  const shown = await Promise.all(
    batches.map(async (batch) =>
      batchToJson(batch, now, await readMotion(ledger, batch, around, fleet.now)),
    ),
  );
  return { batches: shown, total, next };
}

function controlRoute(verb: BatchControl): Route {
  return route({
    method: 'POST',
    path: `/api/v1/batches/:id/${verb}`,
    needs: 'operator',
    kind: 'api',
    summary: SUMMARIES[verb],
    params: batchParams,
    body: z.strictObject({ why: why.optional() }),
    answers: {
      200: { says: 'Done.', schema: z.object({ batch: z.string(), phase: z.string() }) },
      409: { says: 'The phase of the batch does not allow it.' },
    },
    handle: async ({ params: { id }, body, name }, context) => {
      const answer = await controlBatch(context, id, verb, { who: name, why: body.why ?? '' });
      if (answer === undefined) throw noSuchBatch(id);
      if (!answer.done) {
        const detail = `Batch ${id} ${WHY_NOT_CONTROLLED[answer.phase]}.`;
        throw new NoticeQueueError('NOT_POSSIBLE', detail);
      }
      return json({ batch: id, phase: answer.phase });
    },
  });
}

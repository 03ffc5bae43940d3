import { z } from 'zod';
import { withAbortSignal } from '../../../async/cancellation.ts';
import { Deadline } from '../../../async/deadline.ts';
import { exportFailures } from '../../../batch/failures/export-failures.ts';
import { decodeContacts } from '../../../payload/chunk-payload.ts';
import { batchSeal } from '../../../payload/seal.ts';
import { whyNotRedrive } from '../../../batch/failures/redrive-batch.ts';
import { FAILED_STATES } from '../../../batch/failures/select-failures.ts';
import { NoticeQueueError } from '../../../contracts/errors.ts';
import { failureGroup, redriveAnswer } from '../../answers/batch-schemas.ts';
import { digestFailures } from '../../failure-digest.ts';
import { redriveAudited } from '../../batch-actions.ts';
import { json, route, type Route } from '../http/route.ts';
import { requireBatch } from './batch-routes.ts';
import { csvDownload } from './csv-download.ts';
import { ageFields, batchParams, code, rate, waitAfter, waitMs, why } from './inputs.ts';

/** Longest duration of a redrive request in milliseconds; the answer tells what is left. */
const REDRIVE_MS = 20_000;

const states = ['rejected', 'expired', 'unknown'] as const;

const groups = z.array(
  z.object({
    ...failureGroup.shape,
    example: z.record(z.string(), z.string()).optional().describe('one contact, masked'),
  }),
);

const digest = z.object({
  batch: z.string(),
  at: z
    .int()
    .describe(
      'when it was read: milliseconds since the epoch; as `before` of a redrive, nothing else is sent',
    ),
  groups,
  complete: z.boolean().describe('false where the groups cover only the first failures'),
});

/** Failures of a batch: the reasons, the contacts, and sending them again. */
export const FAILURE_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/v1/batches/:id/failures',
    needs: 'viewer',
    kind: 'api',
    summary: 'Why contacts of a batch were not accepted, by state and code.',
    params: batchParams,
    query: z.object({ state: z.enum(FAILED_STATES).optional(), code: code.optional() }),
    answers: { 200: { says: 'The groups, the one with most contacts first.', schema: digest } },
    handle: async ({ params: { id }, query }, context) => {
      const batch = await requireBatch(context, id);
      return json({ batch: id, ...(await digestFailures(context, batch, query)) });
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/batches/:id/failures.csv',
    needs: 'operator',
    kind: 'api',
    summary:
      'The contacts that were not accepted, as a CSV list that can be imported again. It contains phone numbers; each download is recorded in the audit stream.',
    params: batchParams,
    query: z.object({ state: z.enum(FAILED_STATES).optional(), code: code.optional() }),
    answers: { 200: { says: 'The list.', type: 'text/csv' } },
    perMinute: 30,
    handle: async ({ params: { id }, query, name }, context) => {
      const { ledger, sealing } = context;
      const batch = await requireBatch(context, id);
      const as = [query.state ?? 'all', ...(query.code === undefined ? [] : [query.code])].join(
        ' ',
      );
      const entry = { who: name, what: 'download', target: `batch ${id}`, as, why: '' } as const;
      const decode = (payload: Buffer) => decodeContacts(payload, batchSeal(sealing, id));
      return csvDownload(context, entry, `${id}-failures.csv`, (write) =>
        exportFailures(ledger, batch, query, decode, write),
      );
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/batches/:id/redrive',
    needs: 'viewer',
    kind: 'api',
    summary: 'Preview of a redrive; changes nothing.',
    params: batchParams,
    query: z.object({ state: z.enum(states).default('rejected'), code: code.optional() }),
    answers: {
      200: {
        says: 'The preview.',
        schema: digest.extend({
          possible: z.boolean(),
          reason: z.string().nullable().describe('why it is not possible; null where it is'),
          contacts: z.int(),
        }),
      },
    },
    handle: async ({ params: { id }, query, now }, context) => {
      const batch = await requireBatch(context, id);
      const reason = whyNotRedrive(batch, now) ?? null;
      const found = await digestFailures(context, batch, query);
      const contacts = found.groups.reduce((sum, group) => sum + group.contacts, 0);
      return json({ batch: id, possible: reason === null, reason, contacts, ...found });
    },
  }),
  route({
    method: 'POST',
    path: '/api/v1/batches/:id/redrive',
    needs: 'operator',
    kind: 'api',
    summary: 'Sends contacts again that were not accepted. Unknown ones may arrive twice.',
    params: batchParams,
    body: z.strictObject({
      state: z.enum(states),
      code: code.optional(),
      before: ageFields.before,
      limit: z.int().min(1).max(1_000_000_000).optional().describe('most contacts to redrive'),
      rate: rate.describe('most contacts per second, on average'),
      why,
    }),
    answers: {
      200: {
        says: 'What was redriven. If `left` is above 0 and there is no `reason`, repeat the request.',
        schema: redriveAnswer.extend({ waitMs }),
      },
      409: { says: 'The phase of the batch does not allow it.' },
    },
    handle: async ({ params: { id }, body, name, now }, context) => {
      const batch = await requireBatch(context, id);
      const reason = whyNotRedrive(batch, now);
      if (reason !== undefined) {
        throw new NoticeQueueError('NOT_POSSIBLE', `Batch ${id} cannot be redriven: ${reason}.`);
      }
      const { why: words, ...selection } = body;
      const startedAt = performance.now();
      const deadline = new Deadline(REDRIVE_MS, context.closing);
      const actor = { who: name, why: words };
      try {
        const report = await withAbortSignal(deadline, (signal) =>
          redriveAudited(context, batch, selection, actor, undefined, signal),
        );
        return json({ ...report, ...waitAfter(report.redriven, body.rate, startedAt) });
      } finally {
        deadline.close();
      }
    },
  }),
];

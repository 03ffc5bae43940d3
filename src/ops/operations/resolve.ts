import { z } from 'zod';
import { whyNotRedrive } from '../../batch/failures/redrive-batch.ts';
import { InputError, NoticeQueueError } from '../../contracts/errors.ts';
import { countOf, formatCount } from '../../format/format.ts';
import { noticeId } from '../../notices/notice-ref.ts';
import type { Actor } from '../audit.ts';
import { requireBatch } from '../batch-snapshot.ts';
import { RESOLUTIONS, resolveNotices, resolveReport, resolveSelected } from '../resolve-unknown.ts';
import { listUnknownNotices } from '../unknown.ts';
import { oneOf } from './fields.ts';
import { operation, redisNow, type OperationContext } from './operation.ts';
import { contactsIn, describeUnknowns, filterFields, filterFor, sumsOf } from './unknown.ts';

const MAX_IDS = 500;

const CONSEQUENCES = {
  accepted: 'They count as accepted and are never sent again.',
  resend: 'The service may have accepted them: some may arrive twice.',
  discard: 'They are never sent again.',
} as const;

const resolveFields = {
  ids: z.array(noticeId).min(1).max(MAX_IDS).optional().describe('ids of single notices'),
  ...filterFields,
};

/** @throws InputError REQUEST_INVALID where it selects nothing, or too much; NoticeQueueError NOT_POSSIBLE or NOT_FOUND */
async function chosen(
  context: OperationContext,
  {
    as,
    ids,
    ...fields
  }: z.output<z.ZodObject<typeof resolveFields>> & { readonly as: (typeof RESOLUTIONS)[number] },
  actor: Actor,
) {
  const { before, all, ...others } = fields;
  const selects = all === true || Object.values(others).some((field) => field !== undefined);
  if (ids === undefined ? !selects && before === undefined : selects) {
    const problem = 'expected either ids or a filter, such as batch or code';
    throw new InputError('REQUEST_INVALID', [{ field: 'ids', problem }]);
  }
  const filter = await filterFor(context, fields, actor);
  const batch = filter.batch === undefined ? undefined : await requireBatch(context, filter.batch);
  const reason = batch && as === 'resend' ? whyNotRedrive(batch, Date.now()) : undefined;
  if (batch !== undefined && reason !== undefined) {
    throw new NoticeQueueError(
      'NOT_POSSIBLE',
      `Batch ${batch.id} cannot be sent again: ${reason}.`,
    );
  }
  return { filter, named: ids === undefined ? undefined : [...new Set(ids)] };
}

export const resolveUnknown = operation({
  name: 'unknown resolve',
  summary: 'Resolves notices by id, or everything that a filter selects.',
  answers: 'What was resolved.',
  needs: 'operator',
  why: 'over-http',
  path: '/api/v1/unknown/resolve',
  problems: { 409: 'The batch cannot be sent again in its phase.' },
  args: ['ids'],
  input: z.object({
    as: oneOf(RESOLUTIONS).describe('their outcome, or what to do with them'),
    ...resolveFields,
  }),
  output: z.object({
    as: z.enum(RESOLUTIONS),
    ...resolveReport.shape,
    refused: z
      .array(z.object({ batch: z.string(), reason: z.string() }))
      .describe('batches that match and cannot be sent again in their phase'),
  }),
  preview: async (context, input, call) => {
    const { filter, named } = await chosen(context, input, call);
    // What becomes unknown while it asks was not shown.
    const before = filter.before ?? (await redisNow(context.redis));
    const shown = { ...filter, before };
    const notices = await listUnknownNotices(context, shown, named);
    const batches = named === undefined ? (await sumsOf(context, shown)).batches : [];
    const contacts = contactsIn([...notices, ...batches]);
    return {
      lines: describeUnknowns({ notices, batches }, Date.now()),
      question:
        contacts === 0
          ? undefined
          : `Resolve ${countOf(contacts, 'contact')} as ${input.as}? ${CONSEQUENCES[input.as]}`,
      input: { ...input, before, olderThanMs: undefined },
    };
  },
  run: async (context, input, { who, why, signal }) => {
    const { as } = input;
    const { filter, named } = await chosen(context, input, { who, why });
    const decision = { as, who, why };
    if (named === undefined) {
      return { as, ...(await resolveSelected(context, filter, decision, signal)) };
    }
    const found = await listUnknownNotices(context, filter, named);
    const done = await resolveNotices(context.redis, context.keys, found, decision, signal);
    return { as, ...done, gone: done.gone + named.length - found.length, refused: [] };
  },
  text: ({ as, resolved, contacts, gone, late, refused }) => [
    resolved === 0 ? 'Nothing was done.' : `${countOf(contacts, 'contact')} resolved as ${as}.`,
    ...(gone > 0 ? [`${formatCount(gone)} not found, or no longer unknown.`] : []),
    ...(late > 0
      ? [
          `${formatCount(late)} left unresolved: their deadline has passed, so they would expire at once.`,
        ]
      : []),
    ...refused.map(({ batch, reason }) => `Batch ${batch} cannot be sent again: ${reason}.`),
  ],
  isDone: ({ gone, late, stopped, refused }) => gone + late + refused.length === 0 && !stopped,
});

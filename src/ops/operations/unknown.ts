import { z } from 'zod';
import { whyNotRedrive } from '../../batch/failures/redrive-batch.ts';
import { InputError, NoticeQueueError } from '../../contracts/errors.ts';
import { count } from '../answers/fields.ts';
import { resolvedAnswer, unknownOfBatch } from '../answers/unknown-schemas.ts';
import { requireBatch } from '../batch-actions.ts';
import { resolveNotices, type ResolveDecision } from '../resolve-unknown.ts';
import { listUnknownNotices } from '../unknown.ts';
import { resolveSelected } from '../unknown/resolve-selected.ts';
import { RESOLUTIONS } from '../unknown/resolutions.ts';
import {
  FIND_UNKNOWN_PER_MINUTE,
  previewUnknown,
  recordSearch,
  unknownFields,
  unknownFilter,
} from '../unknown/unknown-list.ts';
import { oneOf } from './fields.ts';
import { operation } from './operation.ts';

const MAX_IDS = 500;

export const previewUnknowns = operation({
  name: 'unknown preview',
  summary: 'What resolving with the same filter would decide; changes nothing.',
  answers: 'The preview.',
  needs: 'viewer',
  hidesInput: true,
  path: '/api/v1/unknown/preview',
  perMinute: FIND_UNKNOWN_PER_MINUTE,
  input: z.object(unknownFields),
  output: z.object({
    at: z
      .int()
      .describe(
        'when it was read: as `before` of the decision it leaves out what became unknown later',
      ),
    contacts: count.describe('in all'),
    notices: count.describe('single notices'),
    batches: z.array(unknownOfBatch),
  }),
  run: async (context, input, { who }) => {
    const { at, contacts, found } = await previewUnknown(context, who, input);
    return { at, contacts, notices: found.notices.length, batches: found.batches };
  },
});

export const resolveUnknown = operation({
  name: 'unknown resolve',
  summary: 'Resolves notices by id, or everything that a filter selects.',
  answers: 'What was resolved.',
  needs: 'operator',
  why: 'over-http',
  path: '/api/v1/unknown/resolve',
  problems: { 409: 'The batch cannot be sent again in its phase.' },
  input: z.object({
    as: oneOf(RESOLUTIONS),
    ids: z.array(z.string().min(1).max(200)).min(1).max(MAX_IDS).optional(),
    ...unknownFields,
  }),
  output: resolvedAnswer,
  run: async (context, { as, ids, ...fields }, { who, why, signal }) => {
    const { before, ...others } = fields;
    const selects = Object.values(others).some((field) => field !== undefined);
    if (ids === undefined ? !selects && before === undefined : selects) {
      const problem = 'expected either ids or a filter, such as batch or code';
      throw new InputError('REQUEST_INVALID', [{ field: 'ids', problem }]);
    }
    const filter = unknownFilter(fields);
    if (filter.batch !== undefined) {
      const batch = await requireBatch(context, filter.batch);
      const reason = as === 'resend' ? whyNotRedrive(batch, Date.now()) : undefined;
      if (reason !== undefined) {
        const detail = `Batch ${batch.id} cannot be sent again: ${reason}.`;
        throw new NoticeQueueError('NOT_POSSIBLE', detail);
      }
    }
    const decision: ResolveDecision = { as, who, why };
    await recordSearch(context, filter, decision);
    if (ids === undefined) return resolveSelected(context, filter, decision, signal);
    const { redis, keys } = context;
    const chosen = [...new Set(ids)];
    const found = await listUnknownNotices(context, filter, chosen);
    const done = await resolveNotices(redis, keys, found, decision, signal);
    return { ...done, gone: done.gone + chosen.length - found.length, refused: [] };
  },
});

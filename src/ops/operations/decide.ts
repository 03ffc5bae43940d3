import { z } from 'zod';
import { whyNotRedrive } from '../../batch/failures/failures.ts';
import { InputError, NoticeQueueError } from '../../contracts/errors.ts';
import { countOf, formatCount } from '../../format/format.ts';
import type { Actor } from '../audit.ts';
import { requireBatch } from '../answers/batch.ts';
import { decide, decided, decideInput, DECISIONS, type DecideSelect } from '../decide.ts';
import { describeList, NO_BATCH, readFailures, readSelect } from './failures.ts';
import { waitAfter, waitMs } from './fields.ts';
import { operation, redisNow, type OperationContext } from './operation.ts';

/** Notices that a question shows. */
const SHOWN = 20;

const ASKS = {
  resend: ['Send', 'again?'],
  accepted: ['Count', 'as accepted? They are never sent again.'],
  discard: ['Give', 'up? They are never sent again.'],
} as const;

const DONE = {
  resend: 'will be sent again',
  accepted: 'settled as accepted',
  discard: 'given up',
} as const;

/** @throws InputError REQUEST_INVALID where it selects nothing, or the state does not allow it */
async function readDecision(
  context: OperationContext,
  { as, limit: _limit, rate: _rate, releaseKey: releases, ...fields }: z.output<typeof decideInput>,
  actor: Actor,
): Promise<DecideSelect> {
  const { state = as === 'resend' ? 'rejected' : 'unknown' } = fields;
  const problems = [
    ...(Object.values(fields).every((field) => field === undefined || field === false)
      ? [{ field: 'ids', problem: 'expected ids or a filter, such as batch, single or code' }]
      : []),
    ...(as === 'accepted' && state !== 'unknown'
      ? [{ field: 'state', problem: 'expected unknown: others were not accepted' }]
      : []),
    ...(releases === true && state === 'unknown'
      ? [{ field: 'releaseKey', problem: 'expected state rejected: unknown ones may have arrived' }]
      : []),
  ];
  if (problems.length > 0) throw new InputError('REQUEST_INVALID', problems);
  return { ...(await readSelect(context, fields, actor)), state };
}

const notAgain = (batch: string, reason: string) =>
  `Batch ${batch} cannot be sent again: ${reason}.`;

export const decideFailures = operation({
  name: 'decide',
  help: {
    group: 'Not accepted',
    example: 'notices decide --batch spring --as resend --code INVALID_TEMPLATE',
    adds: 'It asks first, after a preview; --release-key releases the idempotency keys of what is given up.',
  },
  summary: 'Sends what was not accepted again, counts it as accepted, or gives it up.',
  answers: 'What was decided. Repeat it while `complete` is false.',
  needs: 'operator',
  why: 'over-http',
  path: '/api/v1/failures/decide',
  args: ['ids'],
  input: decideInput,
  problems: NO_BATCH,
  output: z.object({ as: z.enum(DECISIONS), ...decided.shape, waitMs }),
  preview: async (context, input, call) => {
    const { as, limit } = input;
    const chosen = await readDecision(context, input, call);
    // What fails while it asks was not shown.
    const before = chosen.before ?? (await redisNow(context.redis));
    const found = await readFailures(context, { ...chosen, before }, Infinity, false);
    const { contacts, notices } = found;
    const most = Math.min(limit ?? contacts, contacts);
    const batch =
      chosen.batch === undefined ? undefined : await requireBatch(context, chosen.batch);
    const reason = as === 'resend' && batch !== undefined && whyNotRedrive(batch, Date.now());
    // Without a question it would be sent again where the batch is resumed meanwhile.
    if (typeof reason === 'string' && contacts > 0) {
      throw new NoticeQueueError('NOT_POSSIBLE', notAgain(chosen.batch ?? '', reason));
    }
    const [verb, rest] = ASKS[as];
    const many = `${most < contacts ? `at most ${formatCount(most)} of ` : ''}${countOf(contacts, 'contact')}`;
    const mayBeTwice =
      as === 'resend' &&
      (chosen.state === 'unknown' || notices.some(({ possiblySent }) => possiblySent > 0));
    const where = batch === undefined ? '' : ` of batch ${batch.id}`;
    const twice = mayBeTwice ? ' The service may have accepted them: some may arrive twice.' : '';
    return {
      lines: describeList({ ...found, notices: notices.slice(0, SHOWN) }, Date.now()),
      question: contacts === 0 ? undefined : `${verb} ${many}${where} ${rest}${twice}`,
      input: { ...input, before },
    };
  },
  run: async (context, input, call) => {
    const startedAt = performance.now();
    const { as, limit, rate: most, releaseKey } = input;
    const chosen = await readDecision(context, input, call);
    const done = await decide(context, chosen, { ...call, as, limit, rate: most, releaseKey });
    return { as, ...done, ...waitAfter(done.contacts, most, startedAt) };
  },
  text: ({ as, contacts, gone, late, complete, refused }) => [
    contacts === 0 ? 'Nothing was done.' : `${countOf(contacts, 'contact')} ${DONE[as]}.`,
    ...(gone > 0 ? [`${formatCount(gone)} left out: changed meanwhile, or in another state.`] : []),
    ...(late > 0
      ? [
          `${formatCount(late)} not sent again: their deadline has passed, so they would expire at once.`,
        ]
      : []),
    ...(complete ? [] : ['Not all that match were tried.']),
    ...(!complete && contacts + gone + late === 0
      ? ['A chunk is decided as a whole: where --limit is lower than its contacts, raise it.']
      : []),
    ...refused.map(({ batch, reason }) => notAgain(batch, reason)),
  ],
  isDone: ({ gone, late, refused }) => gone + late + refused.length === 0,
});

import { z } from 'zod';
import { exportFailures } from '../../batch/failures/export-failures.ts';
import { redriveBatch as redrive, whyNotRedrive } from '../../batch/failures/redrive-batch.ts';
import { FAILED_STATES } from '../../batch/failures/select-failures.ts';
import { NoticeQueueError } from '../../contracts/errors.ts';
import { countOf, formatCount, table } from '../../format/format.ts';
import { decodeContacts } from '../../payload/chunk-payload.ts';
import { batchSeal } from '../../payload/seal.ts';
import { redriveAnswer } from '../answers/batch-schemas.ts';
import { appendAudit } from '../audit.ts';
import { requireBatch } from '../batch-snapshot.ts';
import { digestFailures, failureDigest, type FailureExample } from '../failure-digest.ts';
import { ageFields, batchId, code, oneOf, rate, waitAfter, waitMs, whole } from './fields.ts';
import { operation, redisNow } from './operation.ts';

const digest = z.object({ batch: z.string(), ...failureDigest.shape });

/** Describes failures by state and code. */
export function describeGroups(groups: readonly FailureExample[]): string[] {
  if (groups.length === 0) return [];
  return [
    'Not accepted:',
    ...table(
      groups.map(({ state, code: reason, contacts, message }) => [
        `  ${state}`,
        reason,
        formatCount(contacts),
        message,
      ]),
    ),
  ];
}

export const batchFailures = operation({
  name: 'batch failures',
  summary: 'Why contacts of a batch were not accepted, by state and code.',
  answers: 'The groups, the one with most contacts first.',
  needs: 'viewer',
  path: '/api/v1/batches/:id/failures',
  perMinute: 120,
  input: z.object({
    id: batchId,
    state: oneOf(FAILED_STATES).optional().describe('only in this state'),
    code,
  }),
  output: digest,
  run: async (context, { id, ...filter }) => {
    const found = await requireBatch(context, id);
    return { batch: id, ...(await digestFailures(context, found, filter)) };
  },
  text: ({ groups }) =>
    groups.length === 0
      ? ['No contact failed.']
      : [...describeGroups(groups), 'Add --csv to export their contacts.'],
  csv: {
    summary:
      'The contacts that were not accepted, as a CSV list that can be imported again. It contains phone numbers; each download is recorded in the audit stream.',
    open: async (context, { id, state, code: reason }, actor) => {
      const { ledger, sealing } = context;
      const found = await requireBatch(context, id);
      const as = [state ?? 'all', ...(reason === undefined ? [] : [reason])].join(' ');
      const by = batchSeal(sealing, id);
      return {
        entry: { ...actor, what: 'download', target: `batch ${id}`, as },
        fileName: `${id}-failures.csv`,
        produce: (write) =>
          exportFailures(
            ledger,
            found,
            { state, code: reason },
            (payload) => decodeContacts(payload, by),
            write,
          ),
      };
    },
  },
});

const state = oneOf(['rejected', 'expired', 'unknown'])
  .default('rejected')
  .describe('those in this state; unknown ones may arrive twice');

export const previewRedrive = operation({
  name: 'batch redrive preview',
  summary: 'Preview of a redrive; changes nothing.',
  answers: 'The preview.',
  needs: 'viewer',
  path: '/api/v1/batches/:id/redrive',
  input: z.object({ id: batchId, state, code }),
  output: digest.extend({
    possible: z.boolean(),
    reason: z.string().nullable().describe('why it is not possible; null where it is'),
    contacts: z.int(),
  }),
  run: async (context, { id, ...filter }) => {
    const found = await requireBatch(context, id);
    const reason = whyNotRedrive(found, Date.now()) ?? null;
    const sums = await digestFailures(context, found, filter);
    const contacts = sums.groups.reduce((sum, group) => sum + group.contacts, 0);
    return { batch: id, possible: reason === null, reason, contacts, ...sums };
  },
});

export const redriveBatch = operation({
  name: 'batch redrive',
  summary: 'Sends contacts again that were not accepted. Unknown ones may arrive twice.',
  answers: 'What was redriven. If `left` is above 0 and there is no `reason`, repeat the request.',
  needs: 'operator',
  why: 'over-http',
  path: '/api/v1/batches/:id/redrive',
  problems: { 409: 'The phase of the batch does not allow it.' },
  input: z.object({
    id: batchId,
    state,
    code,
    before: ageFields.before,
    limit: whole(1, 1_000_000_000).optional().describe('most contacts'),
    rate: rate.describe('most contacts per second, on average'),
  }),
  output: redriveAnswer.extend({ waitMs }),
  preview: async (context, input) => {
    const { id, limit, ...filter } = input;
    const found = await requireBatch(context, id);
    requirePossible(found);
    // What fails while it asks was not shown.
    const before = input.before ?? (await redisNow(context.redis));
    const { groups } = await digestFailures(context, found, filter);
    const contacts = groups.reduce((sum, group) => sum + group.contacts, 0);
    const most = limit === undefined ? contacts : Math.min(limit, contacts);
    const upTo = most < contacts ? `at most ${formatCount(most)} of ` : '';
    const twice =
      filter.state === 'unknown'
        ? ' The service may have accepted them: some may arrive twice.'
        : '';
    return {
      lines: describeGroups(groups),
      question:
        contacts === 0
          ? undefined
          : `Send ${upTo}${countOf(contacts, 'contact')} of batch ${id} again?${twice}`,
      input: { ...input, before },
    };
  },
  run: async (context, { id, ...selection }, { who, why, onProgress, signal }) => {
    const found = await requireBatch(context, id);
    requirePossible(found);
    const startedAt = performance.now();
    const { ledger, redis, keys } = context;
    let contacts = 0;
    const count = (redriven: number) => {
      contacts = redriven;
      onProgress?.(redriven);
    };
    try {
      const report = await redrive(ledger, found, selection, count, signal);
      return { ...report, ...waitAfter(report.redriven, selection.rate, startedAt) };
    } finally {
      if (contacts > 0) {
        const as = [selection.state, selection.code].filter((one) => one !== undefined).join(' ');
        const target = `batch ${id}`;
        await appendAudit(redis, keys, { who, why, what: 'redrive', target, as, contacts });
      }
    }
  },
  text: ({ batch: id, redriven, chunks, left, gone, reason }) =>
    redriven + left + gone === 0 && reason === undefined
      ? ['No contact matches; nothing was done.']
      : [
          `${countOf(redriven, 'contact')} in ${countOf(chunks, 'chunk')} will be sent again.`,
          ...(left > 0 ? [`${countOf(left, 'matching contact')} left unchanged.`] : []),
          ...(gone > 0 ? [`${countOf(gone, 'contact')} no longer available.`] : []),
          ...(reason === undefined ? [] : [`Batch ${id} cannot be sent again: ${reason}.`]),
          ...(redriven === 0 && left > 0 && reason === undefined
            ? ['A chunk that failed as a whole is sent again as a whole: increase --limit.']
            : [`"notices batch ${id} --watch" shows their progress.`]),
        ],
  isDone: ({ reason }) => reason === undefined,
});

/** @throws NoticeQueueError NOT_POSSIBLE */
function requirePossible(found: Parameters<typeof whyNotRedrive>[0]): void {
  const reason = whyNotRedrive(found, Date.now());
  if (reason === undefined) return;
  throw new NoticeQueueError('NOT_POSSIBLE', `Batch ${found.id} cannot be sent again: ${reason}.`);
}

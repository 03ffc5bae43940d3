import { z } from 'zod';
import { NoticeQueueError } from '../../contracts/errors.ts';
import { countOf, formatCount, table } from '../../format/format.ts';
import { writeTime } from '../../format/time.ts';
import { failedCsv } from '../../notices/export-failed.ts';
import {
  FAILED_NOTICE_STATES,
  allEnded,
  failedNotices,
  groupFailed,
  type FailedFilter,
  type FailedGroup,
} from '../../notices/select-ended.ts';
import { countEnded } from '../../notices/ended.ts';
import { noticeId } from '../../notices/notice-ref.ts';
import { count } from '../answers/fields.ts';
import {
  changedAnswer,
  failedGroup,
  noticeAnswer,
  type FailedReport,
} from '../answers/notice-schemas.ts';
import { deleteNotices, redriveNotices } from '../notice-actions.ts';
import {
  ageFields,
  beforeOf,
  code,
  oneOf,
  rate,
  template,
  waitAfter,
  waitMs,
  whole,
} from './fields.ts';
import { operation, redisNow, type OperationContext, type OperationPreview } from './operation.ts';

/** The newest failed notices that a list reads over HTTP; its cost is bounded by it. */
const MOST_READ = 500;
const MAX_IDS = 500;
const ALL = 1_000_000_000;

const state = oneOf(FAILED_NOTICE_STATES);

const filters = {
  code,
  template: template.optional().describe('only with this template code'),
  ...ageFields,
};

type Filters = z.output<z.ZodObject<typeof filters>>;

function filterOf<Fields extends Filters>({ before, olderThanMs, ...plain }: Fields) {
  return { ...plain, before: beforeOf({ before, olderThanMs }) };
}

/** Failed notices, as far as they were read. */
export type FailedList = Awaited<ReturnType<typeof listFailed>>;

/** The newest failed notices that match. @param most that are read */
export async function listFailed(
  context: Pick<OperationContext, 'redis' | 'keys'>,
  filter: FailedFilter,
  limit: number,
  most = MOST_READ,
) {
  const found = await failedNotices(context, filter, most);
  const states = filter.state === undefined ? FAILED_NOTICE_STATES : [filter.state];
  const total = await countEnded(context.redis, context.keys, states);
  return {
    notices: found.slice(0, limit),
    groups: groupFailed(found),
    matching: found.length,
    complete: total <= most,
  };
}

export const failed = operation({
  name: 'failed-notices',
  summary:
    'Rejected and unknown single notices, and their number by reason; a preview of a redrive.',
  answers: 'The newest that match.',
  needs: 'viewer',
  path: '/api/v1/failed-notices',
  input: z.object({
    state: state.optional().describe('only in this state'),
    ...filters,
    limit: whole(1, MAX_IDS).default(100).describe('most notices of the answer'),
  }),
  output: z.object({
    notices: z.array(noticeAnswer).describe('the newest'),
    groups: z.array(failedGroup),
    matching: count.describe('those that match, of those that were read'),
    complete: z.boolean().describe('false where only the newest were read'),
  }),
  run: async (context, { limit, ...fields }, { bounded }) =>
    listFailed(context, filterOf(fields), limit, bounded === true ? MOST_READ : Infinity),
  text: ({ notices, groups, matching }, now) =>
    matching === 0
      ? ['No notice failed.']
      : [
          ...groupLines(groups),
          '',
          ...table([
            ['FAILED', 'NOTICE', 'TEMPLATE', 'CONTACTS', 'STATE', 'CODE', 'POSSIBLY SENT'],
            ...notices.map((job) => [
              writeTime(job.endedAt ?? now, now),
              job.id,
              job.template ?? '',
              formatCount(job.contacts),
              job.state,
              job.code ?? '',
              countOf(job.possiblySent, 'time'),
            ]),
          ]),
          ...(matching > notices.length
            ? [`The newest ${notices.length} of ${formatCount(matching)}.`]
            : []),
          '"notices redrive --notices" sends rejected ones again; "notices delete --notices" deletes them.',
        ],
  csv: {
    summary:
      'The contacts of failed single notices, as a CSV list that can be imported again. It contains phone numbers; each download is recorded in the audit stream.',
    open: (context, { limit: _limit, ...fields }, actor) => {
      const as = [fields.state ?? 'all', ...(fields.code === undefined ? [] : [fields.code])];
      const filter = filterOf(fields);
      return Promise.resolve({
        entry: { ...actor, what: 'download', target: 'single notices', as: as.join(' ') },
        fileName: 'failed-notices.csv',
        produce: async (write) => ({ contacts: await failedCsv(context, filter, write) }),
      });
    },
  },
});

const groupLines = (groups: readonly FailedGroup[]) =>
  table([
    ['STATE', 'CODE', 'NOTICES', 'CONTACTS', 'MESSAGE'],
    ...groups.map((one) => [
      one.state,
      one.code,
      formatCount(one.notices),
      formatCount(one.contacts),
      one.message,
    ]),
  ]);

const selection = {
  ids: z
    .array(noticeId)
    .min(1)
    .max(MAX_IDS)
    .optional()
    .describe('ids of notices. Default: all that match'),
  state: state.default('rejected').describe('those in this state'),
  ...filters,
  limit: whole(1, ALL).optional().describe('most notices'),
};

type Selection = z.output<z.ZodObject<typeof selection>>;

/** What is selected, for the question; what fails later, or anew, is not in the input that it gives back. */
async function preview<Input extends Selection>(
  context: OperationContext,
  input: Input,
  ask: (many: string, twice: string) => string,
): Promise<OperationPreview<Input>> {
  const filter = filterOf(input);
  const before = filter.before ?? (await redisNow(context.redis));
  const found = await allEnded(context, { ...filter, before });
  const many = countOf(Math.min(input.limit ?? found.length, found.length), 'notice');
  const twice = found.some((job) => job.possiblySent > 0)
    ? ' The service may have accepted some of them: they may arrive twice.'
    : '';
  return {
    lines: found.length === 0 ? [] : groupLines(groupFailed(found)),
    question: found.length === 0 ? undefined : ask(many, twice),
    input: { ...input, before, olderThanMs: undefined },
  };
}

function describe(done: string) {
  return ({ done: many, late, gone, left }: FailedReport): string[] => [
    many + late + gone + left === 0
      ? 'No failed notice matches; nothing was done.'
      : `${countOf(many, 'notice')} ${done}.`,
    ...(late > 0
      ? [
          `${formatCount(late)} not sent again: their deadline has passed, so they would expire at once.`,
        ]
      : []),
    ...(gone > 0
      ? [`${formatCount(gone)} left out: not failed, or not selected by the flags.`]
      : []),
    ...(left > 0 ? [`${formatCount(left)} left unchanged.`] : []),
  ];
}

const isDone = ({ late, gone }: FailedReport): boolean => late + gone === 0;

export const redriveFailed = operation({
  name: 'redrive',
  summary: 'Sends failed single notices again, under their ids. Unknown ones may arrive twice.',
  answers: 'What is sent again.',
  needs: 'operator',
  why: 'over-http',
  path: '/api/v1/failed-notices/redrive',
  args: ['ids'],
  input: z.object({ ...selection, rate: rate.describe('most notices per second') }),
  output: changedAnswer.extend({ waitMs }),
  preview: (context, input) =>
    preview(context, input, (many, twice) => `Send ${many} again?${twice}`),
  run: async (context, { rate: most, ...fields }, call) => {
    const startedAt = performance.now();
    const report = await redriveNotices(context, filterOf(fields), call, most);
    return { ...report, ...waitAfter(report.done, most, startedAt) };
  },
  text: describe('will be sent again'),
  isDone,
});

export const deleteFailed = operation({
  name: 'delete',
  summary: 'Deletes rejected single notices; unknown ones are discarded by resolving them.',
  answers: 'What was deleted.',
  needs: 'operator',
  why: 'over-http',
  path: '/api/v1/failed-notices/delete',
  problems: { 409: 'The state is unknown: resolve them instead.' },
  args: ['ids'],
  input: z.object({
    ...selection,
    releaseKey: z
      .boolean()
      .optional()
      .describe('release their idempotency keys, so that they can be sent anew'),
  }),
  output: changedAnswer,
  preview: (context, input) => preview(context, input, (many) => `Delete ${many}?`),
  run: async (context, { releaseKey, ...fields }, call) => {
    if (fields.state !== 'rejected') {
      throw new NoticeQueueError(
        'NOT_POSSIBLE',
        'The outcome of these notices is unknown: resolve them as discard instead.',
      );
    }
    const selected = { ...filterOf(fields), state: fields.state };
    return deleteNotices(context, selected, call, releaseKey);
  },
  text: describe('deleted'),
  isDone,
});

import { z } from 'zod';
import { withAbortSignal } from '../../../async/cancellation.ts';
import { Deadline } from '../../../async/deadline.ts';
import { NoticeQueueError } from '../../../contracts/errors.ts';
import { failedCsv } from '../../../notices/export-failed.ts';
import {
  FAILED_NOTICE_STATES,
  failedNotices,
  groupFailed,
  type FailedFilter,
  type FailedGroup,
} from '../../../notices/failed-notices.ts';
import { noticeId } from '../../../notices/notice-ref.ts';
import type { NoticeView } from '../../../notices/notice-state.ts';
import { deleteNotices, redriveNotices, type FailedSelection } from '../../notice-actions.ts';
import type { OpsContext } from '../ops-context.ts';
import { json, route, type Route } from '../http/route.ts';
import { csvDownload } from './csv-download.ts';
import {
  ageFields,
  ageQuery,
  beforeOf,
  code,
  digits,
  queryNumber,
  rate,
  waitAfter,
  waitMs,
  why,
} from './inputs.ts';
import { changedAnswer, failedGroup, noticeAnswer } from '../../answers/notice-schemas.ts';
import { count } from '../../answers/fields.ts';

/** The newest failed notices that a list reads; the cost of an answer is bounded by it. */
const MOST_READ = 500;
const MAX_IDS = 500;
/** Longest duration of a request in milliseconds; the answer tells what is left. */
const CHANGE_MS = 20_000;

const state = z.enum(FAILED_NOTICE_STATES);
const template = z.string().min(1).max(200);

const filters = {
  code: code.optional(),
  template: template.optional(),
  possiblySent: z.enum(['true', 'false']).optional(),
  ...ageQuery,
  since: digits('expected milliseconds since the epoch'),
};

/** The query that selects failed notices. */
export const failedQuery = z.object({
  state: state.optional(),
  ...filters,
  limit: queryNumber(1, MAX_IDS, 100),
});

/** Failed notices, as far as they were read. */
export interface FailedList {
  readonly notices: readonly NoticeView[];
  readonly groups: readonly FailedGroup[];
  /** Those that match, of those that were read. */
  readonly matching: number;
  /** False where only the newest were read. */
  readonly complete: boolean;
}

const listAnswer = z.object({
  notices: z.array(noticeAnswer).describe('the newest'),
  groups: z.array(failedGroup),
  matching: count.describe('those that match, of those that were read'),
  complete: z.boolean().describe(`false where only the newest ${MOST_READ} were read`),
});

const selection = {
  ids: z.array(noticeId).min(1).max(MAX_IDS).optional().describe('default: all that match'),
  state: state.default('rejected'),
  code: code.optional(),
  template: template.optional(),
  possiblySent: z
    .boolean()
    .optional()
    .describe('true: only those; rejected ones that were possibly sent are left out without it'),
  ...ageFields,
  since: ageFields.before.describe('only what failed at this time or later'),
  limit: z.int().min(1).max(1_000_000_000).optional().describe('most notices'),
  why,
};

/** Failed single notices: the list, their contacts, sending them again and deleting them. */
export const FAILED_NOTICE_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/api/v1/failed-notices',
    needs: 'viewer',
    kind: 'api',
    summary:
      'Rejected and unknown single notices, and their number by reason; a preview of a redrive.',
    query: failedQuery,
    answers: { 200: { says: 'The newest that match.', schema: listAnswer } },
    handle: async ({ query }, context) => json(await listFailed(context, query)),
  }),
  route({
    method: 'GET',
    path: '/api/v1/failed-notices.csv',
    needs: 'operator',
    kind: 'api',
    summary:
      'The contacts of failed single notices, as a CSV list that can be imported again. It contains phone numbers; each download is recorded in the audit stream.',
    query: z.object({ state: state.optional(), ...filters }),
    answers: { 200: { says: 'The list.', type: 'text/csv' } },
    perMinute: 30,
    handle: async ({ query, name }, context) => {
      const as = [query.state ?? 'all', ...(query.code === undefined ? [] : [query.code])].join(
        ' ',
      );
      const entry = { who: name, what: 'download', target: 'single notices', as, why: '' } as const;
      return csvDownload(context, entry, 'failed-notices.csv', (write) =>
        failedCsv(context, filterOf(query), write),
      );
    },
  }),
  route({
    method: 'POST',
    path: '/api/v1/failed-notices/redrive',
    needs: 'operator',
    kind: 'api',
    summary: 'Sends failed single notices again, under their ids. Unknown ones may arrive twice.',
    body: z.strictObject({ ...selection, rate: rate.describe('most notices per second') }),
    answers: { 200: { says: 'What is sent again.', schema: changedAnswer.extend({ waitMs }) } },
    handle: async ({ body: { rate: most, why: words, ...fields }, name }, context) => {
      const startedAt = performance.now();
      const selected = selectionOf(fields);
      const actor = { who: name, why: words };
      const report = await within(context, (signal) =>
        redriveNotices(context, selected, actor, most, signal),
      );
      return json({ ...report, ...waitAfter(report.done, most, startedAt) });
    },
  }),
  route({
    method: 'POST',
    path: '/api/v1/failed-notices/delete',
    needs: 'operator',
    kind: 'api',
    summary: 'Deletes rejected single notices; unknown ones are discarded by resolving them.',
    body: z.strictObject({
      ...selection,
      releaseKey: z.boolean().optional().describe('releases their idempotency keys'),
    }),
    answers: {
      200: { says: 'What was deleted.', schema: changedAnswer },
      409: { says: 'The state is unknown: resolve them instead.' },
    },
    handle: async ({ body: { releaseKey, why: words, ...fields }, name }, context) =>
      within(context, async (signal) => {
        const rejected = { ...selectionOf(fields), state: mustBeRejected(fields) };
        const actor = { who: name, why: words };
        return json(await deleteNotices(context, rejected, actor, releaseKey, signal));
      }),
  }),
];

/** What a body selects. */
function selectionOf({
  before,
  olderThanMs,
  ...fields
}: Omit<z.output<z.ZodObject<typeof selection>>, 'why'>): FailedSelection {
  return { ...fields, before: beforeOf({ before, olderThanMs }) };
}

function mustBeRejected({ state: given }: Pick<FailedSelection, 'state'>): 'rejected' {
  if (given === 'rejected') return given;
  throw new NoticeQueueError(
    'NOT_POSSIBLE',
    'The outcome of these notices is unknown: resolve them as discard instead.',
  );
}

async function within<Result>(
  { closing }: OpsContext,
  use: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const deadline = new Deadline(CHANGE_MS, closing);
  try {
    return await withAbortSignal(deadline, use);
  } finally {
    deadline.close();
  }
}

/** The newest failed notices that match; reads at most {@link MOST_READ}. */
export async function listFailed(
  { redis, keys }: OpsContext,
  query: z.output<typeof failedQuery>,
): Promise<FailedList> {
  const found: NoticeView[] = [];
  for await (const job of failedNotices(redis, keys, filterOf(query), MOST_READ)) found.push(job);
  const total = await redis.zcard(keys.failedNotices);
  return {
    notices: found.slice(0, query.limit),
    groups: groupFailed(found),
    matching: found.length,
    complete: total <= MOST_READ,
  };
}

function filterOf({
  possiblySent,
  before,
  olderThanMs,
  since,
  ...plain
}: Omit<z.output<typeof failedQuery>, 'limit'>): FailedFilter {
  return {
    ...plain,
    possiblySent: possiblySent === undefined ? undefined : possiblySent === 'true',
    before: beforeOf({ before, olderThanMs }),
    since: since === undefined ? undefined : Number(since),
  };
}

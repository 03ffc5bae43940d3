import { z } from 'zod';
import { readBatchFilter } from '../../../batch/ledger/batch-filter.ts';
import { InputError } from '../../../contracts/errors.ts';
import { parseInput } from '../../../contracts/parse-input.ts';
import { lookUpNotice } from '../../../notices/look-up.ts';
import type { NoticeView } from '../../../notices/notice-state.ts';
import { scopedKey } from '../../operations/notice.ts';
import { noticeId } from '../../../notices/notice-ref.ts';
import { batchFilterFields, listBatches } from '../../operations/batches.ts';
import { beforeOf } from '../../operations/fields.ts';
import { failed, listFailed } from '../../operations/failed-notices.ts';
import { showHold } from '../../operations/hold.ts';
import { listWaiting } from '../../operations/waiting.ts';
import type { OpsContext } from '../ops-context.ts';
import { html } from '../http/html.ts';
import { route, type Route } from '../http/route.ts';
import { batchesPage, type BatchList } from './batches.ts';
import { viewOf } from './elements.ts';
import { failedSection, type FailedPageData, type FailedPageFilter } from './failed.ts';
import { withoutBlanks } from './filter-form.ts';
import { framed, PAGE } from './layout.ts';
import { lookUpForm, noticePage } from './notice.ts';
import { waitingPage } from './waiting.ts';

const BATCHES = { title: 'Batches', nav: '/batches' } as const;
const PAGE_SIZE = 50;

/** Notices that wait which a page sums up. */
const MOST_WAITING = 2_000;

const milliseconds = z
  .string()
  .regex(/^\d{1,15}$/, 'expected milliseconds')
  .optional();

const failedPageQuery = failed.input.extend({
  id: noticeId.optional(),
  before: milliseconds,
  since: milliseconds,
  olderThanMs: milliseconds,
  /** Where a page of the list begins. */
  until: milliseconds,
});

const waitingQuery = listWaiting.input
  .pick({ state: true, template: true })
  .extend({ within: z.string().optional() });

/** The pages with a filter; its fields are in the query, and blank ones count as left out. */
export const LIST_ROUTES: readonly Route[] = [
  route({
    ...PAGE,
    path: '/batches',
    summary: 'The list of batches, filtered by phase and time.',
    query: z.preprocess(withoutBlanks, z.object(batchFilterFields)),
    handle: async (call, context) => {
      const { offset, ...given } = call.query;
      const frame = (list: BatchList, status?: number) =>
        framed(call, { ...BATCHES, main: batchesPage(list, viewOf(call)) }, status);
      try {
        const filter = readBatchFilter(given, call.now);
        const list = await listBatches(context, filter, { limit: PAGE_SIZE, offset }, call.now);
        return frame({ ...list, offset, given });
      } catch (error) {
        if (!(error instanceof InputError)) throw error;
        const { message: problem } = error;
        return frame({ batches: [], total: 0, offset, next: null, given, problem }, 400);
      }
    },
  }),
  route({
    ...PAGE,
    path: '/waiting',
    summary:
      'The single notices that wait, by template, and the forms that cancel them or hold a template.',
    perMinute: 60,
    query: z.preprocess(withoutBlanks, waitingQuery),
    handle: async (call, context) => {
      const actor = { who: call.name, why: '', bounded: true };
      const given = call.query;
      const filter = parseInput(listWaiting.input, given, 'REQUEST_INVALID');
      const [found, { templates: held }] = await Promise.all([
        listWaiting.run(context, { ...filter, most: MOST_WAITING }, actor),
        showHold.run(context, {}, actor),
      ]);
      const main = waitingPage({ found, held, given }, viewOf(call));
      return framed(call, { title: 'Waiting', nav: '/waiting', main });
    },
  }),
  route({
    ...PAGE,
    path: '/notices',
    summary:
      'Single notices: the form that looks one up, by its id or idempotency key; the failed ones, filtered.',
    query: z.preprocess(withoutBlanks, failedPageQuery),
    handle: async (call, context) => {
      const { id, ...query } = call.query;
      const found = id === undefined ? undefined : await lookUpAny(context, id);
      const view = viewOf(call);
      const main =
        found === undefined
          ? html`${lookUpForm()}
            ${failedSection(await readFailedPage(context, query, call.now), view)}`
          : html`${lookUpForm(id)} ${noticePage(found, view)}`;
      return framed(call, { title: 'Notices', nav: '/notices', main });
    },
  }),
];

/** A notice by its id, or by an idempotency key of the library or of any sender. */
async function lookUpAny(context: OpsContext, text: string): Promise<NoticeView> {
  const byId = await lookUpNotice(context, text);
  if (isKept(byId)) return byId;
  const keys = [text, ...[...context.access.senders].map((sender) => scopedKey(sender, text))];
  for (const idempotencyKey of keys) {
    const found = await lookUpNotice(context, { idempotencyKey });
    if (isKept(found)) return found;
  }
  return byId;
}

const isKept = ({ state }: NoticeView) => state !== 'not-kept';

const numberOf = (text: string | undefined) => (text === undefined ? undefined : Number(text));

/** @throws InputError REQUEST_INVALID for two ages */
async function readFailedPage(
  context: OpsContext,
  { limit, until, ...given }: Omit<z.output<typeof failedPageQuery>, 'id'>,
  now: number,
): Promise<FailedPageData> {
  const { olderThanMs, before, ...filter } = given satisfies FailedPageFilter;
  const chosen = beforeOf({ before: numberOf(before), olderThanMs: numberOf(olderThanMs) });
  const first = Math.max(0, Math.min(chosen ?? Infinity, numberOf(until) ?? Infinity));
  const { since, ...plain } = filter;
  const selected = {
    ...plain,
    since: numberOf(since),
    before: Number.isFinite(first) ? first : undefined,
  };
  const list = await listFailed(context, selected, limit);
  // Clocks may differ: what is shown is always part of what the forms act on.
  const shown = Math.max(now, ...list.notices.map(({ endedAt = 0 }) => endedAt + 1));
  return { ...list, given, before: Math.min(first, shown) };
}

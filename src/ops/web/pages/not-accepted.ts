import type { z } from 'zod';
import { countOf, formatCount } from '../../../format/format.ts';
import { lookUpNotice } from '../../../notices/look-up.ts';
import { noticeId } from '../../../notices/notice-ref.ts';
import type { NoticeView } from '../../../notices/notice-state.ts';
import { FAILED_NOTICE_STATES, type FailedGroup } from '../../../notices/select-ended.ts';
import { beforeOf, whole } from '../../operations/fields.ts';
import {
  deleteFailed,
  failed,
  listFailed,
  redriveFailed,
  type FailedList,
} from '../../operations/failed-notices.ts';
import { scopedKey } from '../../operations/notice.ts';
import type { OperationOutput } from '../../operations/operations.ts';
import { MAX_BATCHES, unknown as unknownOutcomes } from '../../operations/unknown.ts';
import { html, type Html, type Part } from '../http/html.ts';
import type { OpsContext } from '../ops-context.ts';
import * as ui from './elements.ts';
import { page } from './layout.ts';
import { noticePage } from './notice.ts';

/** Ages that can be chosen, in milliseconds. */
const AGES = [
  ['3600000', '1 hour'],
  ['21600000', '6 hours'],
  ['86400000', '24 hours'],
  ['259200000', '3 days'],
] as const;

const milliseconds = whole(0, 10 ** 15).optional();

const input = failed.input.pick({ state: true, code: true, template: true, limit: true }).extend({
  id: noticeId.optional(),
  before: milliseconds,
  olderThanMs: milliseconds,
  /** Where a page of the list begins. */
  until: milliseconds,
});

type Given = Omit<z.output<typeof input>, 'id' | 'limit' | 'until'>;

/** What is read for the page, and for which filter. */
interface NotAccepted extends FailedList {
  readonly given: Given;
  /** A form acts on what failed before this time: on what the page shows, not on what fails later. */
  readonly before: number;
  readonly unknown: OperationOutput<'unknown'>;
}

/** What was not accepted, and what needs a decision: single notices by reason, and lists with unknown contacts. */
export const NOT_ACCEPTED = page({
  path: '/notices',
  title: 'Not accepted',
  summary:
    'What was not accepted, filtered, and what needs a decision; the form that looks a notice up, by its id or idempotency key.',
  input,
  view: async (call, context) => {
    const { id, ...query } = call.input;
    if (id !== undefined) return [lookUpForm(id), noticePage(await lookUpAny(context, id), call)];
    const found = await read(context, query, call.now);
    return [lookUpForm(), ofNotices(found, call), ofLists(found.unknown, call)];
  },
});

/** @throws InputError REQUEST_INVALID for two ages */
async function read(
  context: OpsContext,
  { limit, until = Infinity, ...given }: Omit<z.output<typeof input>, 'id'>,
  now: number,
): Promise<NotAccepted> {
  const { state, code: of, template } = given;
  const first = Math.max(0, Math.min(beforeOf(given) ?? Infinity, until));
  const before = Number.isFinite(first) ? first : undefined;
  const [list, unknown] = await Promise.all([
    listFailed(context, { state, code: of, template, before }, limit),
    unknownOutcomes.run(context, { limit: 1 }, { who: '', why: '', bounded: true }),
  ]);
  // Clocks may differ: what is shown is always part of what the forms act on.
  const shown = Math.max(now, ...list.notices.map(({ endedAt = 0 }) => endedAt + 1));
  return { ...list, given, before: Math.min(first, shown), unknown };
}

/** A notice by its id, or by an idempotency key of the library or of any sender. */
async function lookUpAny(context: OpsContext, text: string): Promise<NoticeView> {
  const byId = await lookUpNotice(context, text);
  if (byId.state !== 'not-kept') return byId;
  const keys = [text, ...[...context.access.senders].map((sender) => scopedKey(sender, text))];
  for (const idempotencyKey of keys) {
    const found = await lookUpNotice(context, { idempotencyKey });
    if (found.state !== 'not-kept') return found;
  }
  return byId;
}

function lookUpForm(given = ''): Html {
  return html`<form method="get" action="/notices" class="card narrow">
    <label
      >Id or idempotency key of a single notice
      <input name="id" value="${given}" maxlength="200" autocomplete="off" required
    /></label>
    <p><button type="submit">Look up</button></p>
  </form>`;
}

function ofNotices(found: NotAccepted, view: ui.PageView): Part {
  const { notices, matching, complete, given } = found;
  const isFiltered = Object.values(given).some((value) => value !== undefined);
  if (matching === 0 && complete && !isFiltered) {
    return ui.empty('failed', ui.para('No single notice failed.'));
  }
  const older = ui.linkWith('/notices', { ...given, until: (notices.at(-1)?.endedAt ?? 0) + 1 });
  const numbers = ui.linkWith('/api/v1/failed-notices.csv', selectionOf(found));
  const traces = ui.linkWith('/api/v1/unknown.csv', {
    ...selectionOf(found),
    state: undefined,
    all: true,
  });
  return [
    ui.filter('/notices', given, [
      ['state', 'State', ui.choicesOf(FAILED_NOTICE_STATES)],
      ['code', 'Code', ''],
      ['template', 'Template', ''],
      ['olderThanMs', 'Failed longer ago than', AGES],
    ]),
    ui.card('failed', 'Single notices', [
      matching === 0 ? ui.para('No failed notice matches.') : tables(found, view),
      // Of the same millisecond one may be shown again.
      matching > notices.length &&
        ui.quiet([
          `The newest ${formatCount(notices.length)} of ${formatCount(matching)}. `,
          ui.link(older, 'Older'),
        ]),
      !complete &&
        ui.quiet('Only the newest failed notices were read; choose an age to see older ones.'),
      ui.mayAct(view) &&
        matching > 0 &&
        ui.para([
          ui.link(numbers, 'Download their contacts'),
          ', ',
          ui.link(traces, 'those of unknown ones with trace ids'),
          ' (recorded in the audit stream)',
        ]),
    ]),
  ];
}

/** The filter as operations take it. */
function selectionOf({ given, before }: NotAccepted) {
  const { state, code: of, template } = given;
  return { state, code: of, template, before };
}

function tables(found: NotAccepted, view: ui.PageView): Part {
  return [
    ui.table<FailedGroup>(
      'Failed notices by reason',
      [
        ['State', ({ state }) => ui.dot(state)],
        ['Code', (group) => ui.code(group.code)],
        ['Notices', ({ notices }) => formatCount(notices), 'number'],
        ['Contacts', ({ contacts }) => formatCount(contacts), 'number'],
        ['Message', ({ message }) => message],
      ],
      found.groups,
      (group) => groupActions(group, found, view),
    ),
    ui.table<NoticeView>(
      'Failed notices',
      [
        ['Notice', ({ id }) => ui.noticeLink(id)],
        ['Template', ({ template }) => template],
        ['State', ({ state }) => ui.dot(state)],
        ['Code', (notice) => ui.code(notice.code)],
        ['Since', ({ endedAt }) => endedAt !== undefined && ui.moment(endedAt, view.now)],
        ['Possibly sent', ({ possiblySent }) => possiblySent > 0 && countOf(possiblySent, 'time')],
      ],
      found.notices,
    ),
  ];
}

function groupActions(group: FailedGroup, found: NotAccepted, view: ui.PageView): Part {
  const { state, code: of, notices, contacts } = group;
  const { given, complete } = found;
  const { template } = given;
  const selected = { ...selectionOf(found), code: of };
  if (state !== 'rejected') return decideLink({ ...selected, state: undefined, all: true }, view);
  const only = template === undefined ? '' : `; only template ${template}`;
  const older = complete ? '' : '; older ones that match, too';
  const says = `${countOf(notices, 'notice')} with ${of}, ${countOf(contacts, 'contact')}${only}${older}.`;
  const rejected = { says, given: { ...selected, state } };
  return ui.acts(
    ui.action(view, redriveFailed, {
      ...rejected,
      opens: 'Send again...',
      asks: { rate: 'Most notices a second (empty: no limit)' },
      button: `Send all with ${of} again`,
    }),
    ui.action(view, deleteFailed, {
      ...rejected,
      opens: 'Delete...',
      asks: { releaseKey: 'Release their idempotency keys' },
      button: `Delete all with ${of}`,
      danger: true,
    }),
  );
}

/** Where the unknown outcomes that a filter selects are counted and decided. */
export const decideLink = (selected: ui.GivenInput, view: ui.PageView): Html | false =>
  ui.mayAct(view) && ui.link(ui.linkWith('/decide', selected), 'Decide...');

function ofLists({ batches, allBatches }: OperationOutput<'unknown'>, view: ui.PageView): Part {
  const newest = `newest ${countOf(MAX_BATCHES, 'batch', 'batches')}`;
  const all = decideLink({}, view);
  const older = ui.quiet([
    `Of lists the ${newest} are read; older ones may have unknown contacts. `,
    all,
  ]);
  if (batches.length === 0) return allBatches ? undefined : older;
  const columns = ui.table(
    'Batches with unknown contacts',
    [
      ['Batch', ({ batch }) => ui.batchLink(batch)],
      ['Template', ({ template }) => template],
      ['Unknown', ({ contacts }) => formatCount(contacts), 'number'],
      ['Since', ({ at }) => ui.moment(at, view.now)],
    ],
    batches,
    ({ batch }) => decideLink({ batch }, view),
  );
  return [ui.card('unknown-batches', 'Lists with unknown contacts', columns), !allBatches && older];
}

import type { z } from 'zod';
import type { FailureGroup } from '../../../batch/failures/failures.ts';
import { countOf, formatCount } from '../../../format/format.ts';
import { lookUpNotice } from '../../../notices/look-up.ts';
import { noticeId } from '../../../notices/notice-ref.ts';
import type { NoticeView } from '../../../notices/notice-state.ts';
import { FAILED_NOTICE_STATES } from '../../entries.ts';
import { failures, readFailures, type FailureList } from '../../operations/failures.ts';
import { beforeOf, whole } from '../../operations/fields.ts';
import { scopedKey } from '../../operations/notice.ts';
import { html, type Html, type Part } from '../http/html.ts';
import type { OpsContext } from '../ops-context.ts';
import { decision } from './decide.ts';
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

const input = failures.input.pick({ state: true, code: true, template: true, limit: true }).extend({
  id: noticeId.optional(),
  before: milliseconds,
  olderThanMs: milliseconds,
  /** Where a page of the list of notices begins. */
  until: milliseconds,
});

type Given = Omit<z.output<typeof input>, 'id' | 'limit' | 'until'>;

/** What is read for the page, and for which filter. */
interface NotAccepted extends FailureList {
  readonly given: Given;
  /** The filter as operations take it: a form acts on what the page shows, not on what fails later. */
  readonly selected: Pick<Given, 'state' | 'code' | 'template'> & { readonly before: number };
}

/** What was not accepted, and the forms that decide on it: single notices by reason, and lists with unknown contacts. */
export const NOT_ACCEPTED = page({
  path: '/notices',
  title: 'Not accepted',
  summary:
    'What was not accepted, filtered, and the forms that decide on it; the form that looks a notice up, by its id or idempotency key.',
  input,
  view: async (call, context) => {
    const { id, ...query } = call.input;
    if (id !== undefined) return [lookUpForm(id), noticePage(await lookUpAny(context, id), call)];
    const found = await read(context, query, call.now);
    return [lookUpForm(), ofNotices(found, call), ofLists(found, call)];
  },
});

/** @throws InputError REQUEST_INVALID for two ages */
async function read(
  context: OpsContext,
  { limit, until, ...given }: Omit<z.output<typeof input>, 'id'>,
  now: number,
): Promise<NotAccepted> {
  const { state, code, template } = given;
  const first = Math.max(0, Math.min(beforeOf(given) ?? Infinity, until ?? Infinity));
  const before = Number.isFinite(first) ? first : undefined;
  const single = until === undefined ? undefined : true;
  const list = await readFailures(context, { state, code, template, before, single }, limit);
  // Clocks may differ: what is shown is always part of what the forms act on.
  const shown = Math.max(now, list.at, ...list.notices.map(({ endedAt = 0 }) => endedAt + 1));
  return { ...list, given, selected: { state, code, template, before: Math.min(first, shown) } };
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
  const { notices, groups, matching, complete, given, selected } = found;
  const isFiltered = Object.values(given).some((value) => value !== undefined);
  if (matching === 0 && complete && !isFiltered) {
    return ui.empty('failed', ui.para('No single notice failed.'));
  }
  const older = ui.linkWith('/notices', { ...given, until: (notices.at(-1)?.endedAt ?? 0) + 1 });
  const contacts = ui.linkWith('/api/v1/failures.csv', { ...selected });
  return [
    ui.filter('/notices', given, [
      ['state', 'State', ui.choicesOf(FAILED_NOTICE_STATES)],
      ['code', 'Code', ''],
      ['template', 'Template', ''],
      ['olderThanMs', 'Failed longer ago than', AGES],
    ]),
    ui.card('failed', 'Single notices', [
      matching === 0
        ? ui.para('No failed notice matches.')
        : [
            groupTable(groups, (group) => groupDecision(group, found, view)),
            noticeTable(notices, view),
          ],
      // Of the same millisecond one may be shown again.
      matching > notices.length &&
        ui.quiet([
          `The newest ${formatCount(notices.length)} of ${formatCount(matching)}. `,
          ui.link(older, 'Older'),
        ]),
      !complete &&
        ui.quiet(
          'Only the newest failed notices and lists were read; choose an age to see older ones.',
        ),
      ui.mayAct(view) &&
        found.contacts > 0 &&
        ui.para([
          ui.link(contacts, 'Download their contacts'),
          ' with trace ids (recorded in the audit stream)',
        ]),
    ]),
  ];
}

/** What was not accepted by state and code, with what can be done. */
export const groupTable = (
  groups: readonly FailureGroup[],
  actions: (group: FailureGroup) => Part,
): Part =>
  ui.table<FailureGroup>(
    'Failures by reason',
    [
      ['State', ({ state }) => ui.dot(state)],
      ['Code', ({ code }) => ui.code(code)],
      ['Contacts', ({ contacts }) => formatCount(contacts), 'number'],
      ['Answer of the service', ({ message }) => message],
    ],
    groups,
    actions,
  );

const noticeTable = (notices: readonly NoticeView[], view: ui.PageView): Part =>
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
    notices,
  );

function groupDecision(group: FailureGroup, found: NotAccepted, view: ui.PageView): Part {
  const { state, code, contacts } = group;
  const { selected, complete } = found;
  const { template } = selected;
  const only = template === undefined ? '' : `; only template ${template}`;
  const older = complete ? '' : '; older ones that match, too';
  return decision(view, {
    what: `all with ${code}`,
    says: `${countOf(contacts, 'contact')} of single notices with ${code}${only}${older}. `,
    given: { ...selected, state, code, single: true },
  });
}

function ofLists({ batches, selected }: NotAccepted, view: ui.PageView): Part {
  if (batches.length === 0) return undefined;
  const given = { ...selected, state: 'unknown' };
  return ui.card('unknown-batches', 'Lists with unknown contacts', [
    ui.table(
      'Batches with unknown contacts',
      [
        ['Batch', ({ batch }) => ui.batchLink(batch)],
        ['Template', ({ template }) => template],
        ['Unknown', ({ contacts }) => formatCount(contacts), 'number'],
        ['Codes', ({ codes }) => ui.code(codes.join(', '))],
      ],
      batches,
      ({ batch, contacts }) =>
        decision(view, {
          what: countOf(contacts, 'contact'),
          given: { ...given, batch },
        }),
    ),
    decision(view, {
      what: 'all unknown outcomes that match',
      says: 'Of single notices and of all lists, also of those that are not shown. ',
      given,
    }),
  ]);
}

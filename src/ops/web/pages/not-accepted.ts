import { z } from 'zod';
import type { FailureGroup } from '../../../batch/failures/failures.ts';
import { parseInput } from '../../../contracts/parse-input.ts';
import { countOf, formatCount } from '../../../format/format.ts';
import { lookUpNotice } from '../../../notices/look-up.ts';
import { noticeId } from '../../../notices/notice-ref.ts';
import type { NoticeView } from '../../../notices/notice-state.ts';
import { FAILED_NOTICE_STATES } from '../../entries.ts';
import { failures, readFailures } from '../../operations/failures.ts';
import { whole } from '../../operations/fields.ts';
import { scopedKey } from '../../operations/notice.ts';
import { html, type Html, type Part } from '../http/html.ts';
import type { OpsContext } from '../ops-context.ts';
import { decision } from './decide.ts';
import * as ui from './elements.ts';
import { page } from './layout.ts';
import { noticePage } from './notice.ts';

/** Ages that can be chosen. */
const AGES = [
  ['1h', '1 hour'],
  ['6h', '6 hours'],
  ['24h', '24 hours'],
  ['3d', '3 days'],
] as const;

/** Notices and lists that are shown at most. */
const MOST_NOTICES = 500;
const MOST_LISTS = 200;

const input = failures.input.pick({ state: true, code: true, template: true, limit: true }).extend({
  id: noticeId.optional(),
  before: z.string().optional(),
  /** Where a page of the list of notices begins. */
  until: whole(0, 10 ** 15).optional(),
  /** Reads all that match, not only the newest. */
  all: z.boolean().optional(),
});

type NotAccepted = Awaited<ReturnType<typeof read>>;

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

/** @throws InputError REQUEST_INVALID */
async function read(
  context: OpsContext,
  { limit, until, all = false, ...given }: Omit<z.output<typeof input>, 'id'>,
  now: number,
) {
  const { state, code, template } = given;
  const asked = parseInput(failures.input, { before: given.before }, 'REQUEST_INVALID');
  const first = Math.min(asked.before ?? Infinity, until ?? Infinity);
  const before = Number.isFinite(first) ? first : undefined;
  // Of a list, a time is found out from all of its failures.
  const single = before === undefined ? undefined : true;
  const filter = { state, code, template, before, single };
  const list = await readFailures(context, filter, Math.min(limit, MOST_NOTICES), !all);
  // Clocks may differ: what is shown is always part of what the forms act on.
  const shown = Math.max(now, list.at, ...list.notices.map(({ endedAt = 0 }) => endedAt + 1));
  return {
    ...list,
    given,
    all,
    /** The same page, where it counts all that match. */
    countAll: ui.linkWith('/notices', { ...given, until, all: true }),
    /** The filter as operations take it: a form acts on what the page shows, not on what fails later. */
    selected: { ...filter, before: Math.min(first, shown) },
  };
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
  const { notices, groups, matching, complete, all, given, selected } = found;
  if (matching === 0 && complete && !ui.isFiltered(given) && !all) {
    return ui.empty('failed', ui.para('No single notice failed.'));
  }
  const older = ui.linkWith('/notices', { ...given, until: (notices.at(-1)?.endedAt ?? 0) + 1 });
  const contacts = ui.linkWith('/api/v1/failures.csv', { ...selected, single: true });
  return [
    ui.filter('/notices', given, [
      ['state', 'State', ui.choicesOf(FAILED_NOTICE_STATES)],
      ['code', 'Code', ''],
      ['template', 'Template', ''],
      ['before', 'Failed longer ago than', AGES],
    ]),
    cardOf(found, 'failed', 'Single notices', [
      matching === 0
        ? ui.para('No failed notice matches.')
        : [
            groupTable(groups, (group) => complete && groupDecision(group, found, view)),
            noticeTable(notices, view),
          ],
      // Of the same millisecond one may be shown again.
      matching > notices.length &&
        ui.quiet([
          `The newest ${formatCount(notices.length)} of ${formatCount(matching)}. `,
          ui.link(older, 'Older'),
        ]),
      !complete &&
        ui.quiet([
          'Only the newest failed notices and lists were read. ',
          ui.link(found.countAll, 'Count all that match'),
          ui.mayAct(view) && ' to decide on them, or to download them',
        ]),
      all && ui.quiet('Counted when the page was loaded: it does not refresh.'),
      ui.mayAct(view) &&
        complete &&
        // Without a state, unknown ones are left out of the file.
        groups.some(({ state }) => given.state !== undefined || state !== 'unknown') &&
        ui.para([
          ui.link(contacts, 'Download their contacts'),
          given.state === undefined && ', but those with an unknown outcome,',
          ' with trace ids (recorded in the audit stream)',
        ]),
    ]),
  ];
}

/** A card; one that counts all is read once, not every two seconds. */
const cardOf = ({ all }: NotAccepted, id: string, title: string, body: Part): Html =>
  ui.card(id, title, body, !all);

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

function groupDecision(group: FailureGroup, { selected }: NotAccepted, view: ui.PageView): Part {
  const { state, code, contacts } = group;
  const { template } = selected;
  const only = template === undefined ? '' : `; only template ${template}`;
  return decision(view, {
    what: `all with ${code}`,
    says: `${countOf(contacts, 'contact')} of single notices with ${code}${only}. `,
    given: { ...selected, state, code, single: true },
  });
}

function ofLists(found: NotAccepted, view: ui.PageView): Part {
  const { batches, groups, complete, selected } = found;
  if (selected.single === true && selected.state !== 'rejected') {
    return ui.quiet(
      'Only single notices: lists with unknown contacts are on the first page, where no age is chosen.',
    );
  }
  if (batches.length === 0) return undefined;
  const given = { ...selected, state: 'unknown' };
  const alone = sumOf(groups.filter(({ state }) => state === 'unknown'));
  const total = alone + sumOf(batches);
  return cardOf(found, 'unknown-batches', 'Lists with unknown contacts', [
    ui.table(
      'Batches with unknown contacts',
      [
        ['Batch', ({ batch }) => ui.batchLink(batch)],
        ['Template', ({ template }) => template],
        ['Unknown', ({ contacts }) => formatCount(contacts), 'number'],
        ['Codes', ({ codes }) => ui.code(codes.join(', '))],
      ],
      batches.slice(0, MOST_LISTS),
      ({ batch, contacts }) =>
        decision(view, {
          what: countOf(contacts, 'contact'),
          given: { ...given, batch },
        }),
    ),
    batches.length > MOST_LISTS &&
      ui.quiet(`The newest ${MOST_LISTS} of ${formatCount(batches.length)}.`),
    complete &&
      decision(view, {
        what: `all ${countOf(total, 'unknown contact')}`,
        says: `${formatCount(alone)} of single notices, and ${formatCount(total - alone)} of ${countOf(batches.length, 'list')}. `,
        given,
      }),
  ]);
}

const sumOf = (parts: readonly { readonly contacts: number }[]) =>
  parts.reduce((sum, { contacts }) => sum + contacts, 0);

import { countOf, formatCount } from '../../../format/format.ts';
import type { OperationOutput } from '../../operations/operations.ts';
import { MAX_BATCHES } from '../../operations/unknown.ts';
import { html, type Html } from '../http/html.ts';
import {
  ask,
  code,
  form,
  mayAct,
  moment,
  noticeLink,
  table,
  whyField,
  type TableColumn,
  type PageView,
} from './elements.ts';

type UnknownList = OperationOutput<'unknown'>;
type ListedNotice = UnknownList['notices'][number];

/** Possible decisions and their meaning. */
const DECISIONS = [
  ['accepted', 'The service accepted it: settle it as accepted.'],
  ['resend', 'Send it again. It may arrive twice.'],
  ['discard', 'Settle it without sending it again.'],
] as const;

/** Unknown outcomes, and the forms to resolve them. @param selection the form that selects some of them */
export function unknownPage(
  { at, notices, listed, batches, allBatches }: UnknownList,
  view: PageView,
  selection: Html = html``,
): Html {
  if (listed === 0 && batches.length === 0) {
    return html`<section class="card empty">
      <p>No outcome is unknown.</p>
    </section>`;
  }
  const older = !allBatches && olderBatches(view);
  return html`<p>
      The service may or may not have accepted these notices: a response was lost, or a worker died
      during a request. They are not sent again automatically. Look them up at the service, then
      decide.
    </p>
    ${selection} ${batches.length > 0 && ofBatches(batches, at, view)} ${older}
    ${notices.length > 0 && ofNotices(notices, listed, at, view)}`;
}

function olderBatches(view: PageView): Html {
  const how = mayAct(view) ? '“Select...” with empty fields finds them.' : '';
  return html`<p class="quiet">
    This page reads ${countOf(MAX_BATCHES, 'batch', 'batches')} with unknown contacts, the newest.
    Older ones may have some, too. ${how}
  </p>`;
}

function ofBatches(batches: UnknownList['batches'], at: number, view: PageView): Html {
  return html`<section class="card" id="unknown-batches" data-refresh>
    <h2>In batches</h2>
    ${table(
      'Batches with unknown contacts',
      [
        ['Batch', ({ batch }) => html`<a href="/batches/${batch}">${batch}</a>`],
        ['Template', ({ template }) => template],
        ['Contacts', ({ contacts }) => formatCount(contacts), 'number'],
        ['Since', ({ at: since }) => moment(since, view.now)],
      ],
      batches,
      ({ batch, contacts }) => [
        mayAct(view) &&
          ask(
            'Decide...',
            decisionForm(
              view,
              `batch-${batch}`,
              html`<input type="hidden" name="batch" value="${batch}" />${shownAt(at)}`,
              `all ${formatCount(contacts)} unknown contacts of ${batch}`,
            ),
          ),
      ],
    )}
  </section>`;
}

/** Made visible by the script, which it needs. */
const CHOOSE_ALL = html`<span class="unseen">Chosen</span
  ><input type="checkbox" data-choose="ids" aria-label="choose all" hidden />`;

/** A table of notices with masked numbers and trace ids. @param choose whether they can be chosen */
export function noticeTable(
  notices: readonly ListedNotice[],
  { now }: PageView,
  choose: boolean,
): Html {
  const chosen: TableColumn<ListedNotice> = [
    CHOOSE_ALL,
    ({ id }) => html`<input type="checkbox" name="ids" value="${id}" aria-label="choose ${id}" />`,
  ];
  return table<ListedNotice>(
    'Notices whose outcome is unknown',
    [
      ...(choose ? [chosen] : []),
      ['Notice', ({ id }) => noticeLink(id)],
      ['Template', ({ template }) => template],
      ['Contacts', ({ contacts, numbers }) => shownContacts(contacts, numbers)],
      ['Since', ({ at }) => moment(at, now)],
      ['Code', (notice) => code(notice.code)],
      ['Last stage', ({ stage }) => stage],
      ['Possibly sent', ({ possiblySent }) => countOf(possiblySent, 'time')],
      [
        'Trace ids',
        (notice) => (notice.traceIds ?? []).map((traceId) => html`<code>${traceId}</code> `),
      ],
    ],
    notices,
  );
}

/** The first numbers, and how many more; without numbers how many contacts. */
function shownContacts(contacts: number, numbers: readonly string[]): string {
  if (numbers.length === 0) return countOf(contacts, 'contact');
  const more = contacts - numbers.length;
  return [...numbers, ...(more > 0 ? [`and ${formatCount(more)} more`] : [])].join(', ');
}

/** A decision is about what was shown, and not about what becomes unknown later. */
const shownAt = (at: number) => html`<input type="hidden" name="before" value="${String(at)}" />`;

function ofNotices(
  notices: readonly ListedNotice[],
  listed: number,
  at: number,
  view: PageView,
): Html {
  const operator = mayAct(view);
  const list = noticeTable(notices, view, operator);
  const rest =
    listed > notices.length &&
    html`<p class="quiet">The oldest ${formatCount(notices.length)} of ${formatCount(listed)}.</p>`;
  return html`<section class="card" id="unknown-notices" data-refresh>
    <h2>Single notices</h2>
    ${operator ? decisionForm(view, 'notices', html`${shownAt(at)}${list}${rest}`, 'the chosen notices') : html`${list}${rest}`}
  </section>`;
}

/** A form for a decision, which redirects to the page of unknown outcomes. */
export function decisionForm(view: PageView, id: string, body: Html, what: string): Html {
  return form(
    view,
    '/api/v1/unknown/resolve',
    html`${body}
      <fieldset>
        <legend>Decide on ${what}</legend>
        ${DECISIONS.map(
          ([as, meaning]) =>
            html`<label class="choice">
              <input type="radio" name="as" value="${as}" required />
              <span><strong>${as}</strong> ${meaning}</span>
            </label>`,
        )}
        ${whyField(`why-${id}`)}
        <button type="submit">Decide</button>
      </fieldset>`,
    '/unknown',
  );
}

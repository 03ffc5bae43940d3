import { countOf, formatCount } from '../../../format/format.ts';
import { FAILED_NOTICE_STATES } from '../../../notices/select-ended.ts';
import type { FailedGroup } from '../../../notices/select-ended.ts';
import type { NoticeView } from '../../../notices/notice-state.ts';
import type { FailedList } from '../../operations/failed-notices.ts';
import { html, type Html } from '../http/html.ts';
import {
  ask,
  code,
  dot,
  form,
  mayAct,
  moment,
  noticeLink,
  table,
  whyField,
  type PageView,
} from './elements.ts';
import { AGES, choiceField, filterForm, hidden, linkWith, textField } from './filter-form.ts';

/** The filter of the page as its query has it. */
export interface FailedPageFilter {
  readonly state?: string | undefined;
  readonly code?: string | undefined;
  readonly template?: string | undefined;
  /** Failed longer ago than this, in milliseconds. */
  readonly olderThanMs?: string | undefined;
  readonly before?: string | undefined;
  readonly since?: string | undefined;
}

/** What was read, and for which filter. */
export interface FailedPageData extends FailedList {
  readonly given: FailedPageFilter;
  /** A form acts on what failed before this time: on what the page shows, not on what fails later. */
  readonly before: number;
}

/** The failed single notices, and the forms to filter them, send them again, download or delete them. */
export function failedSection(data: FailedPageData, view: PageView): Html {
  const { notices, matching, complete, given } = data;
  const chosen = Object.values(given).some((value) => value !== undefined);
  if (matching === 0 && complete && !chosen) {
    return html`<section class="card empty" id="failed">
      <p>No single notice failed.</p>
    </section>`;
  }
  return html`${filterOf(given, chosen)}
    <section class="card" id="failed" data-refresh>
      <h2>Failed</h2>
      ${matching === 0 ? html`<p>No failed notice matches.</p>` : lists(data, view)}
      ${
        matching > notices.length &&
        html`<p>
          <span class="quiet"
            >The newest ${formatCount(notices.length)} of ${formatCount(matching)}.</span
          >
          <a href="${olderLink(data)}">Older</a>
        </p>`
      }
      ${
        !complete &&
        html`<p class="quiet">
          Only the newest failed notices were read; choose an age to see older ones.
        </p>`
      }
      ${
        mayAct(view) &&
        matching > 0 &&
        html`<p>
          <a href="${linkWith('/api/v1/failed-notices.csv', selectionOf(data))}"
            >Download their contacts</a
          >
          (recorded in the audit stream)
        </p>`
      }
    </section>`;
}

/** Those that failed before the last one shown; of the same millisecond one may be shown again. */
function olderLink({ notices, given }: FailedPageData): string {
  const endedAt = notices.at(-1)?.endedAt;
  const until = endedAt === undefined ? undefined : endedAt + 1;
  return linkWith('/notices', { ...given, until });
}

function filterOf(given: FailedPageFilter, chosen: boolean): Html {
  const { state, code, template, olderThanMs } = given;
  return filterForm(
    '/notices',
    [
      choiceField({ name: 'state', label: 'State', value: state }, [
        ['', 'any'],
        ...FAILED_NOTICE_STATES.map((one) => [one, one] as const),
      ]),
      textField({ name: 'code', label: 'Code', value: code }),
      textField({ name: 'template', label: 'Template', value: template }),
      choiceField({ name: 'olderThanMs', label: 'Failed longer ago than', value: olderThanMs }, [
        ['', 'any time'],
        ...AGES,
      ]),
      // Times of a link are kept.
      html`${(['before', 'since'] as const).map((name) => hidden(name, given[name]))}`,
    ],
    { chosen },
  );
}

/** The filter as the API takes it. */
function selectionOf({ given, before }: FailedPageData) {
  const { state, code, template, since } = given;
  return { state, code, template, since, before };
}

function lists(data: FailedPageData, view: PageView): Html {
  return html`${table<FailedGroup>(
    'Failed notices by reason',
    [
      ['State', ({ state }) => dot(state)],
      ['Code', (group) => code(group.code)],
      ['Notices', ({ notices }) => formatCount(notices), 'number'],
      ['Contacts', ({ contacts }) => formatCount(contacts), 'number'],
      ['Message', ({ message }) => message],
    ],
    data.groups,
    (group, index) => [mayAct(view) && actions(group, index, data, view)],
  )}
  ${table<NoticeView>(
    'Failed notices',
    [
      ['Notice', ({ id }) => noticeLink(id)],
      ['Template', ({ template }) => template],
      ['State', ({ state }) => dot(state)],
      ['Code', (notice) => code(notice.code)],
      ['Since', ({ endedAt }) => endedAt !== undefined && moment(endedAt, view.now)],
      ['Possibly sent', ({ possiblySent }) => possiblySent > 0 && countOf(possiblySent, 'time')],
    ],
    data.notices,
  )}`;
}

/** A preview of what a form acts on: what the page shows of one reason. */
function preview(
  { code: of, notices, contacts }: FailedGroup,
  { given, complete }: FailedPageData,
) {
  const what = `${countOf(notices, 'notice')} with ${of}, ${countOf(contacts, 'contact')}`;
  const only = given.template === undefined ? '' : `; only template ${given.template}`;
  return html`<p>${what}${only}${!complete && '; older ones that match, too'}.</p>`;
}

/** Unknown ones are decided on their own page. */
function actions(group: FailedGroup, index: number, data: FailedPageData, view: PageView): Html {
  const { state, code: of } = group;
  if (state !== 'rejected') return html`<a href="/unknown">Decide...</a>`;
  const fields = (id: string) =>
    html`${preview(group, data)}
    ${Object.entries({ ...selectionOf(data), state, code: of }).map(([name, value]) => hidden(name, value))}
    ${whyField(id)}`;
  return html`<div class="acts">
    ${ask(
      'Send again...',
      form(
        view,
        '/api/v1/failed-notices/redrive',
        html`${fields(`why-redrive-${index}`)}
          <label for="rate-${index}">Most notices a second (empty: no limit)</label>
          <input id="rate-${index}" name="rate" inputmode="numeric" autocomplete="off" />
          <button type="submit">Send all with ${of} again</button>`,
      ),
    )}
    ${ask(
      'Delete...',
      form(
        view,
        '/api/v1/failed-notices/delete',
        html`${fields(`why-delete-${index}`)}
          <label class="choice">
            <input type="checkbox" name="releaseKey" />
            <span>Release their idempotency keys</span>
          </label>
          <button type="submit" class="danger">Delete all with ${of}</button>`,
      ),
    )}
  </div>`;
}

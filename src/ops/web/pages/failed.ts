import { countOf, formatCount } from '../../../format/format.ts';
import { FAILED_NOTICE_STATES } from '../../../notices/failed-notices.ts';
import type { FailedGroup } from '../../../notices/failed-notices.ts';
import type { NoticeView } from '../../../notices/notice-state.ts';
import type { FailedList } from '../../operations/failed-notices.ts';
import { html, type Html } from '../http/html.ts';
import { ask, form, head, mayAct, moment, table, whyField, type PageView } from './elements.ts';
import { AGES, choiceField, filterForm, linkWith, textField } from './filter-form.ts';

/** The filter of the page as its query has it. */
export interface FailedPageFilter {
  readonly state?: string | undefined;
  readonly code?: string | undefined;
  readonly template?: string | undefined;
  readonly possiblySent?: 'true' | 'false' | undefined;
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
  const { state, code, template, possiblySent, olderThanMs } = given;
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
      choiceField({ name: 'possiblySent', label: 'Possibly sent', value: possiblySent }, [
        ['', 'any'],
        ['true', 'yes'],
        ['false', 'no'],
      ]),
      // Times of a link are kept.
      html`${(['before', 'since'] as const).map((name) => hidden(name, given[name]))}`,
    ],
    { chosen },
  );
}

const hidden = (name: string, value: string | number | undefined) =>
  value !== undefined && html`<input type="hidden" name="${name}" value="${value}" />`;

/** The filter as the API takes it. */
function selectionOf({ given, before }: FailedPageData) {
  const { state, code, template, possiblySent, since } = given;
  return { state, code, template, possiblySent, since, before };
}

function lists(data: FailedPageData, view: PageView): Html {
  const { notices, groups } = data;
  return html` ${table(
    'Failed notices by reason',
    [
      head('State'),
      head('Code'),
      head('Notices', true),
      head('Contacts', true),
      head('Message'),
      head('Action'),
    ],
    groups.map(
      (group, index) =>
        html`<tr>
          <td><i class="dot ${group.state}"></i>${group.state}</td>
          <td><code>${group.code}</code></td>
          <td class="number">${formatCount(group.notices)}</td>
          <td class="number">${formatCount(group.contacts)}</td>
          <td>${group.message}</td>
          <td>${mayAct(view) && actions(group, index, data, view)}</td>
        </tr>`,
    ),
  )}
  ${table(
    'Failed notices',
    [
      head('Notice'),
      head('Template'),
      head('State'),
      head('Code'),
      head('Since'),
      head('Possibly sent'),
    ],
    notices.map((notice) => row(notice, view)),
  )}`;
}

function row(notice: NoticeView, { now }: PageView): Html {
  const { id, template, state, code, endedAt, possiblySent } = notice;
  return html`<tr>
    <td>
      <a href="/notices/${encodeURIComponent(id)}"><code>${id}</code></a>
    </td>
    <td>${template}</td>
    <td><i class="dot ${state}"></i>${state}</td>
    <td><code>${code}</code></td>
    <td>${endedAt !== undefined && moment(endedAt, now)}</td>
    <td>${countOf(possiblySent, 'time')}</td>
  </tr>`;
}

/** A preview of what a form acts on: what the page shows of one reason. */
function preview({ code, notices, contacts }: FailedGroup, { given, complete }: FailedPageData) {
  const chosen = [
    given.template === undefined ? [] : [`template ${given.template}`],
    given.possiblySent === undefined
      ? []
      : [given.possiblySent === 'true' ? 'possibly sent' : 'not possibly sent'],
  ].flat();
  const what = `${countOf(notices, 'notice')} with ${code}, ${countOf(contacts, 'contact')}`;
  const only = chosen.length === 0 ? '' : `; only ${chosen.join(', ')}`;
  return html`<p>${what}${only}${!complete && '; older ones that match, too'}.</p>`;
}

/** Unknown ones are decided on their own page. */
function actions(group: FailedGroup, index: number, data: FailedPageData, view: PageView): Html {
  const { state, code } = group;
  if (state !== 'rejected') return html`<a href="/unknown">Decide...</a>`;
  const { possiblySent } = data.given;
  const fields = (id: string) =>
    html`${preview(group, data)}
    ${possiblySent === undefined && html`<p>Those that were possibly sent are left out.</p>`}
    ${Object.entries({ ...selectionOf(data), state, code }).map(([name, value]) => hidden(name, value))}
    ${whyField(id)}`;
  return html`${ask(
    'Send again...',
    form(
      view,
      '/api/v1/failed-notices/redrive',
      html`${fields(`why-redrive-${index}`)}
        ${
          possiblySent === 'true' &&
          html`<p>
            <strong>They may arrive twice: the service may have accepted them already.</strong>
          </p>`
        }
        <label for="rate-${index}">Most notices a second (empty: no limit)</label>
        <input id="rate-${index}" name="rate" inputmode="numeric" autocomplete="off" />
        <button type="submit" ${possiblySent === 'true' && html`class="danger"`}>
          Send all with ${code} again
        </button>`,
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
        <button type="submit" class="danger">Delete all with ${code}</button>`,
    ),
  )}`;
}

import { countOf, formatCount } from '../../../format/format.ts';
import type { FailedList } from '../api/failed-notice-routes.ts';
import { html, type Html } from '../http/html.ts';
import { ask, form, head, mayAct, moment, table, whyField, type PageView } from './elements.ts';

/** The failed single notices, and the forms to send them again, download or delete them. */
export function failedSection(
  { notices, groups, matching, complete }: FailedList,
  view: PageView,
): Html {
  if (matching === 0 && complete) {
    return html`<section class="card empty" id="failed">
      <p>No single notice failed.</p>
    </section>`;
  }
  return html`<section class="card" id="failed" data-refresh>
    <h2>Failed</h2>
    ${table(
      'Failed notices by reason',
      [
        head('State'),
        head('Code'),
        head('Notices', true),
        head('Contacts', true),
        head('Message'),
        head(''),
      ],
      groups.map(
        ({ state, code, notices: many, contacts, message }, index) =>
          html`<tr>
            <td><i class="dot ${state}"></i>${state}</td>
            <td><code>${code}</code></td>
            <td class="number">${formatCount(many)}</td>
            <td class="number">${formatCount(contacts)}</td>
            <td>${message}</td>
            <td>${mayAct(view) && actions(state, code, index, view)}</td>
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
      notices.map(
        ({ id, template, state, code, endedAt, possiblySent }) =>
          html`<tr>
            <td>
              <a href="/notices/${encodeURIComponent(id)}"><code>${id}</code></a>
            </td>
            <td>${template}</td>
            <td><i class="dot ${state}"></i>${state}</td>
            <td><code>${code}</code></td>
            <td>${endedAt !== undefined && moment(endedAt, view.now)}</td>
            <td>${countOf(possiblySent, 'time')}</td>
          </tr>`,
      ),
    )}
    ${matching > notices.length && html`<p class="quiet">The newest ${formatCount(notices.length)} of ${formatCount(matching)}.</p>`}
    ${!complete && html`<p class="quiet">Only the newest failed notices were read.</p>`}
    ${mayAct(view) && html`<p><a href="/api/v1/failed-notices.csv">Download their contacts</a> (recorded in the audit stream)</p>`}
  </section>`;
}

/** Unknown ones are decided on their own page. */
function actions(state: string, code: string, index: number, view: PageView): Html {
  if (state !== 'rejected') return html`<a href="/unknown">Decide...</a>`;
  const fields = (id: string) =>
    html`<input type="hidden" name="state" value="rejected" />
      <input type="hidden" name="code" value="${code}" />
      ${whyField(id)}`;
  return html`${ask(
    'Send again...',
    form(
      view,
      '/api/v1/failed-notices/redrive',
      html`${fields(`why-redrive-${index}`)}
        <label for="rate-${index}">Most notices a second (empty: no limit)</label>
        <input id="rate-${index}" name="rate" inputmode="numeric" autocomplete="off" />
        <button type="submit">Send all with ${code} again</button>`,
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

import { countOf, formatCount } from '../../../format/format.ts';
import { traceIdsOf } from '../../../contracts/possibly-sent.ts';
import type { ListedNotice, UnknownList } from '../api/unknown-selection.ts';
import { html, type Html } from '../http/html.ts';
import { ask, form, head, mayAct, moment, table, whyField, type PageView } from './elements.ts';

/** Possible decisions and their meaning. */
const DECISIONS = [
  ['accepted', 'The service accepted it: settle it as accepted.'],
  ['resend', 'Send it again. It may arrive twice.'],
  ['discard', 'Settle it without sending it again.'],
] as const;

/**
 * Unknown outcomes, and the forms to resolve them.
 *
 * @param selection the form that selects some of them
 * @param olderBatches how many batches are older than those that were read. Default: 0
 */
export function unknownPage(
  { notices, listed, batches }: UnknownList,
  view: PageView,
  selection: Html = html``,
  olderBatches = 0,
): Html {
  if (listed === 0 && batches.length === 0) {
    if (olderBatches > 0) {
      return html`<section class="card empty">
          <p>No outcome is unknown among single notices and the newest batches.</p>
        </section>
        ${notRead(olderBatches)} ${selection}`;
    }
    return html`<section class="card empty">
      <p>No outcome is unknown.</p>
    </section>`;
  }
  return html`<p>
      The service may or may not have accepted these notices: a response was lost, or a worker died
      during a request. They are not sent again automatically. Look them up at the service, then
      decide.
    </p>
    ${selection} ${batches.length > 0 && ofBatches(batches, view)} ${notRead(olderBatches)}
    ${notices.length > 0 && ofNotices(notices, listed, view)}`;
}

function notRead(olderBatches: number): Html {
  if (olderBatches <= 0) return html``;
  return html`<p class="quiet">
    ${countOf(olderBatches, 'older batch', 'older batches')} not read here. An operator's selection
    and <code>notices unknown</code> read all.
  </p>`;
}

function ofBatches(batches: UnknownList['batches'], view: PageView): Html {
  return html`<section class="card" id="unknown-batches" data-refresh>
    <h2>In batches</h2>
    ${table(
      'Batches with unknown contacts',
      [head('Batch'), head('Template'), head('Contacts', true), head('Started'), head('')],
      batches.map(
        ({ batch, template, contacts, begunAt }) =>
          html`<tr>
            <td><a href="/batches/${batch}">${batch}</a></td>
            <td>${template}</td>
            <td class="number">${formatCount(contacts)}</td>
            <td>${moment(begunAt, view.now)}</td>
            <td>
              ${
                mayAct(view) &&
                ask(
                  'Decide...',
                  decisionForm(
                    view,
                    `batch-${batch}`,
                    html`<input type="hidden" name="batch" value="${batch}" />`,
                    `all ${formatCount(contacts)} unknown contacts of ${batch}`,
                  ),
                )
              }
            </td>
          </tr>`,
      ),
    )}
  </section>`;
}

/** Made visible by the script, which it needs. */
const CHOOSE_ALL = html`<th scope="col">
  <input type="checkbox" data-choose="ids" aria-label="choose all" hidden />
</th>`;

/** A table of notices with masked numbers and trace ids. @param choose whether they can be chosen */
export function noticeTable(
  notices: readonly ListedNotice[],
  view: PageView,
  choose: boolean,
): Html {
  const rows = notices.map(
    ({ id, at, template, contacts, numbers, code, stage, possiblySent, ...traces }) =>
      html`<tr>
        ${
          choose &&
          html`<td>
            <input type="checkbox" name="ids" value="${id}" aria-label="choose ${id}" />
          </td>`
        }
        <td>
          <a href="/notices/${encodeURIComponent(id)}"><code>${id}</code></a>
        </td>
        <td>${template}</td>
        <td>
          ${[...numbers, ...(contacts > numbers.length ? [`and ${formatCount(contacts - numbers.length)} more`] : [])].join(', ')}
        </td>
        <td>${moment(at, view.now)}</td>
        <td><code>${code}</code></td>
        <td>${stage}</td>
        <td>${countOf(possiblySent, 'time')}</td>
        <td>${traceIdsOf(traces).map((traceId) => html`<code>${traceId}</code> `)}</td>
      </tr>`,
  );
  const heads = [
    ...(choose ? [CHOOSE_ALL] : []),
    head('Notice'),
    head('Template'),
    head('Contacts'),
    head('Since'),
    head('Code'),
    head('Last stage'),
    head('Possibly sent'),
    head('Trace ids'),
  ];
  return table('Notices whose outcome is unknown', heads, rows);
}

function ofNotices(notices: readonly ListedNotice[], listed: number, view: PageView): Html {
  const operator = mayAct(view);
  const list = noticeTable(notices, view, operator);
  const rest =
    listed > notices.length &&
    html`<p class="quiet">The oldest ${formatCount(notices.length)} of ${formatCount(listed)}.</p>`;
  return html`<section class="card" id="unknown-notices" data-refresh>
    <h2>Single notices</h2>
    ${operator ? decisionForm(view, 'notices', html`${list}${rest}`, 'the chosen notices') : html`${list}${rest}`}
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

import { countOf, formatCount } from '../../../format/format.ts';
import { traceIdsOf } from '../../../contracts/outcome.ts';
import { MAX_BATCHES, type ListedNotice, type UnknownList } from '../../unknown/unknown-list.ts';
import { html, type Html } from '../http/html.ts';
import { ask, form, head, mayAct, moment, table, whyField, type PageView } from './elements.ts';

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
  if (listed === 0 && batches.length === 0 && allBatches) {
    return html`<section class="card empty">
      <p>No outcome is unknown.</p>
    </section>`;
  }
  const newest = `newest ${countOf(MAX_BATCHES, 'batch', 'batches')}`;
  const older = !allBatches && olderBatches(newest, view);
  if (listed === 0 && batches.length === 0) {
    return html`<section class="card empty">
        <p>No outcome of a single notice or of the ${newest} is unknown.</p>
      </section>
      ${selection} ${older}`;
  }
  return html`<p>
      The service may or may not have accepted these notices: a response was lost, or a worker died
      during a request. They are not sent again automatically. Look them up at the service, then
      decide.
    </p>
    ${selection} ${batches.length > 0 && ofBatches(batches, at, view)} ${older}
    ${notices.length > 0 && ofNotices(notices, listed, at, view)}`;
}

function olderBatches(newest: string, view: PageView): Html {
  const how = mayAct(view) ? '“Select...” with empty fields finds them.' : '';
  return html`<p class="quiet">
    This page reads the ${newest}. Older ones may have unknown contacts. ${how}
  </p>`;
}

function ofBatches(batches: UnknownList['batches'], at: number, view: PageView): Html {
  return html`<section class="card" id="unknown-batches" data-refresh>
    <h2>In batches</h2>
    ${table(
      'Batches with unknown contacts',
      [head('Batch'), head('Template'), head('Contacts', true), head('Started'), head('Action')],
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
                    html`<input type="hidden" name="batch" value="${batch}" />${shownAt(at)}`,
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
        <td>${shownContacts(contacts, numbers)}</td>
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

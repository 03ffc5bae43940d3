import type { UnknownOverview, UnknownNotice } from '../../unknown.ts';
import { html, type Html } from '../http/html.ts';
import {
  ask,
  count,
  form,
  head,
  mayAct,
  moment,
  table,
  whyField,
  type PageView,
} from './elements.ts';

/** What a person may decide, with what it means. */
const DECISIONS = [
  ['accepted', 'It was taken: settle it as accepted.'],
  ['resend', 'Send it again. It may arrive twice.'],
  ['discard', 'Let it be: settle it without sending.'],
] as const;

/** The desk where people decide on what may have been taken. */
export function unknownPage({ notices, listed, batches }: UnknownOverview, look: PageView): Html {
  if (listed === 0 && batches.length === 0) {
    return html`<section class="card empty">
      <p>Nothing is unknown: of every notice it is known whether the service took it.</p>
    </section>`;
  }
  return html`<p>
      Nobody knows whether the service took these: an answer was lost, or a worker died in between.
      They are never sent again by themselves. Look them up at the service, then decide.
    </p>
    ${batches.length > 0 && ofBatches(batches, look)}
    ${notices.length > 0 && ofNotices(notices, listed, look)}`;
}

function ofBatches(batches: UnknownOverview['batches'], look: PageView): Html {
  return html`<section class="card" id="unknown-batches" data-refresh>
    <h2>In batches</h2>
    ${table(
      'Batches with unknown contacts',
      [head('Batch'), head('Template'), head('Contacts', true), head('Begun'), head('')],
      batches.map(
        ({ batch, template, contacts, begunAt }) =>
          html`<tr>
            <td><a href="/batches/${batch}">${batch}</a></td>
            <td>${template}</td>
            <td class="number">${count(contacts)}</td>
            <td>${moment(begunAt, look.now)}</td>
            <td>
              ${
                mayAct(look) &&
                ask(
                  'Decide...',
                  decision(
                    look,
                    `batch-${batch}`,
                    html`<input type="hidden" name="batch" value="${batch}" />`,
                    `all ${count(contacts)} unknown contacts of ${batch}`,
                  ),
                )
              }
            </td>
          </tr>`,
      ),
    )}
  </section>`;
}

/** Shown by our script, which alone can do it. */
const CHOOSE_ALL = html`<th scope="col">
  <input type="checkbox" data-choose="ids" aria-label="choose all" hidden />
</th>`;

function ofNotices(notices: readonly UnknownNotice[], listed: number, look: PageView): Html {
  const operator = mayAct(look);
  const rows = notices.map(
    ({ id, at, template, contacts, code, stage }) =>
      html`<tr>
        ${
          operator &&
          html`<td>
            <input type="checkbox" name="ids" value="${id}" aria-label="choose ${id}" />
          </td>`
        }
        <td><code>${id}</code></td>
        <td>${template}</td>
        <td class="number">${count(contacts)}</td>
        <td>${moment(at, look.now)}</td>
        <td><code>${code}</code></td>
        <td>${stage}</td>
      </tr>`,
  );
  const heads = [
    ...(operator ? [CHOOSE_ALL] : []),
    head('Notice'),
    head('Template'),
    head('Contacts', true),
    head('Since'),
    head('Code'),
    head('Last seen'),
  ];
  const list = table('Notices whose outcome is unknown', heads, rows);
  const rest =
    listed > notices.length &&
    html`<p class="quiet">The oldest ${count(notices.length)} of ${count(listed)}.</p>`;
  return html`<section class="card" id="unknown-notices" data-refresh>
    <h2>Single notices</h2>
    ${operator ? decision(look, 'notices', html`${list}${rest}`, 'the chosen notices') : html`${list}${rest}`}
  </section>`;
}

function decision(look: PageView, id: string, body: Html, what: string): Html {
  return form(
    look,
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
  );
}

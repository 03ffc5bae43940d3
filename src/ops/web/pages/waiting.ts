import type { TemplateHold } from '../../../fleet/hold/template-hold.ts';
import { countOf, formatCount } from '../../../format/format.ts';
import { WAITING_STATES, type WaitingGroup } from '../../../notices/waiting.ts';
import type { OperationOutput } from '../../operations/operations.ts';
import { html, type Html } from '../http/html.ts';
import { ask, form, mayAct, moment, table, whyField, type PageView } from './elements.ts';
import { choiceField, filterForm, hidden, PERIODS, textField } from './filter-form.ts';

/** The filter of the page as its query has it. */
export interface WaitingQuery {
  readonly state?: string | undefined;
  readonly template?: string | undefined;
  readonly within?: string | undefined;
}

/** What waits, the templates that are held, and for which filter. */
export interface WaitingPageData {
  readonly found: OperationOutput<'waiting'>;
  readonly held: readonly TemplateHold[];
  readonly given: WaitingQuery;
}

/** The single notices that wait, by template, and the forms that cancel them or hold their template. */
export function waitingPage({ found, held, given }: WaitingPageData, view: PageView): Html {
  const { groups, notices, contacts, complete } = found;
  const { state, template, within } = given;
  const chosen = Object.values(given).some((value) => value !== undefined);
  const fields = [
    choiceField({ name: 'state', label: 'State', value: state }, [
      ['', 'any'],
      ...WAITING_STATES.map((one) => [one, one] as const),
    ]),
    textField({ name: 'template', label: 'Template', value: template }),
    choiceField({ name: 'within', label: 'Queued within', value: within }, PERIODS),
  ];
  const holdOf = (one: WaitingGroup) => held.find((hold) => hold.template === one.template);
  return html`${filterForm('/waiting', fields, { chosen })}
    <section class="card" id="waiting">
      ${
        groups.length === 0
          ? html`<p>No single notice waits${chosen && html` that matches`}.</p>`
          : html`<p>
              ${countOf(notices, 'notice')},
              ${countOf(contacts, 'contact')}${!complete && ', of those that were read; there are more'}.
            </p>`
      }
      ${
        groups.length > 0 &&
        table<WaitingGroup>(
          'Notices that wait',
          [
            ['Template', (one) => one.template],
            [
              'State',
              (one) => [
                one.state,
                holdOf(one) !== undefined && html` <span class="tag bad">held</span>`,
              ],
            ],
            ['Notices', (one) => formatCount(one.notices), 'number'],
            ['Contacts', (one) => formatCount(one.contacts), 'number'],
            ['Oldest', ({ oldest }) => moment(oldest, view.now)],
            ['Newest', ({ newest }) => moment(newest, view.now)],
          ],
          groups,
          (one, index) => [
            mayAct(view) &&
              one.template !== '' &&
              actions(one, index, { found, given, held, view }),
          ],
        )
      }
      <p class="quiet small">
        Delayed ones wait for their time or their next attempt. Contacts of lists are on
        <a href="/batches">Batches</a>.
      </p>
    </section>`;
}

function actions(
  { state, template, notices, contacts, oldest }: WaitingGroup,
  index: number,
  { found, given, held, view }: WaitingPageData & { readonly view: PageView },
): Html {
  const what = found.complete ? countOf(notices, 'notice') : 'all of them';
  const cancel = html`<p>
      ${found.complete ? `${what} (${countOf(contacts, 'contact')})` : 'All notices'} of
      ${template}, ${state} now, will never be sent; what is queued from now on is. This cannot be
      undone.
    </p>
    ${hidden('template', template)} ${hidden('state', state)} ${hidden('queuedBefore', found.at)}
    ${given.within !== undefined && hidden('queuedAfter', oldest)}
    ${whyField(`why-cancel-${index}`)}
    <label class="choice">
      <input type="checkbox" name="releaseKey" />
      <span>Release their idempotency keys, so that they can be sent anew</span>
    </label>
    <button type="submit" class="danger">Cancel ${what}</button>`;
  const hold = html`<p>Notices and lists of ${template} wait; all others are sent.</p>
    ${hidden('template', template)} ${whyField(`why-hold-${index}`)}
    <button type="submit">Hold the template</button>`;
  const lift = html`<p>Notices and lists of ${template} are sent again.</p>
    ${hidden('template', template)} ${whyField(`why-lift-${index}`)}
    <button type="submit">Lift the hold</button>`;
  return html`<div class="acts">
    ${ask('Cancel...', form(view, '/api/v1/waiting/cancel', cancel))}
    ${
      held.some((one) => one.template === template)
        ? ask('Lift the hold...', form(view, '/api/v1/hold/lift', lift))
        : ask('Hold the template...', form(view, '/api/v1/hold/place', hold))
    }
  </div>`;
}

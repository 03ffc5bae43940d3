import { countOf, formatCount } from '../../../format/format.ts';
import type { UnknownFilter } from '../../unknown.ts';
import type { OperationOutput } from '../../operations/operations.ts';
import { html, type Html } from '../http/html.ts';
import { ask, mayAct, moment, table, type PageView } from './elements.ts';
import { AGES } from './filter-form.ts';
import { csrfField } from './layout.ts';
import { decisionForm, noticeTable } from './unknown.ts';

/** What was selected on the page. */
export interface UnknownSelection extends OperationOutput<'unknown preview'> {
  readonly filter: UnknownFilter;
}

/** The form that selects unknown outcomes; the number is in no URL. Changes nothing. */
export function selectionForm(view: PageView): Html {
  if (!mayAct(view)) return html``;
  const field = (name: string, label: string, mode = 'text') =>
    html`<p>
      <label for="select-${name}">${label}</label>
      <input
        id="select-${name}"
        name="${name}"
        inputmode="${mode}"
        autocomplete="off"
        spellcheck="false"
      />
    </p>`;
  return ask(
    'Select...',
    html`<form method="post" action="/unknown">
      ${csrfField(view.csrf)} ${field('code', 'Code')} ${field('template', 'Template')}
      ${field('batch', 'Batch')} ${field('chunk', 'Chunk of the batch', 'numeric')}
      ${field('number', 'Phone number', 'tel')}
      <p>
        <label for="select-age">Unknown for longer than</label>
        <select id="select-age" name="olderThanMs">
          <option value="">any time</option>
          ${AGES.map(([value, label]) => html`<option value="${value}">${label}</option>`)}
        </select>
      </p>
      <p><button type="submit">Preview</button></p>
    </form>`,
  );
}

/** What the filter selects, with its number of contacts, and the form to decide on all of it. */
export function selectionPage(
  { filter, at, contacts, notices, listed, batches }: UnknownSelection,
  view: PageView,
): Html {
  const chosen = wordsOf(filter);
  if (contacts === 0) {
    return html`<section class="card empty" id="selection">
      <p>No unknown outcome matches${chosen}.</p>
    </section>`;
  }
  const what = `all ${countOf(contacts, 'contact')}${chosen === '' ? '' : ` selected by${chosen}`}`;
  // Not what becomes unknown after it was shown.
  const shown = { ...filter, before: filter.before ?? at };
  return html`<section class="card" id="selection">
    <h2>Selected</h2>
    <p>
      ${countOf(contacts, 'contact')}: ${countOf(listed, 'single notice')}, and
      ${countOf(batches.length, 'batch', 'batches')}.
    </p>
    ${batches.length > 0 && batchTable(batches, view)}
    ${notices.length > 0 && noticeTable(notices, view, false)}
    ${
      listed > notices.length &&
      html`<p class="quiet">
        The oldest ${formatCount(notices.length)} of ${formatCount(listed)} notices.
      </p>`
    }
    ${mayAct(view) && filter.number === undefined && downloadLink(filter)}
    ${mayAct(view) && decisionForm(view, 'selected', hiddenFields(shown), what)}
  </section>`;
}

/** A link to the numbers in full. */
export function downloadLink({ code, template, batch, chunk, before }: UnknownFilter): Html {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ code, template, batch, chunk, before })) {
    if (value !== undefined) query.set(name, String(value));
  }
  return html`<p>
    <a href="/api/v1/unknown.csv?${query.toString()}">Download their numbers and trace ids</a>
    (recorded in the audit stream)
  </p>`;
}

/** The filter of the preview. The number is not returned: it is typed again. */
function hiddenFields({ code, template, batch, chunk, before, number }: UnknownFilter): Html {
  return html`${Object.entries({ code, template, batch, chunk, before }).map(
    ([name, value]) =>
      value !== undefined && html`<input type="hidden" name="${name}" value="${String(value)}" />`,
  )}
  ${
    number !== undefined &&
    html`<p>
      <label for="again-number">Phone number, once more</label>
      <input id="again-number" name="number" inputmode="tel" autocomplete="off" required />
    </p>`
  }`;
}

/** The filter in words, after a blank; empty where it selects everything. */
function wordsOf({ code, template, batch, chunk, before, number }: UnknownFilter): string {
  const words = [
    code === undefined ? [] : [`code ${code}`],
    template === undefined ? [] : [`template ${template}`],
    batch === undefined ? [] : [`batch ${batch}`],
    chunk === undefined ? [] : [`chunk ${formatCount(chunk)}`],
    before === undefined ? [] : [`unknown since before ${new Date(before).toISOString()}`],
    number === undefined ? [] : ['the phone number'],
  ].flat();
  return words.length === 0 ? '' : ` ${words.join(', ')}`;
}

function batchTable(batches: UnknownSelection['batches'], { now }: PageView): Html {
  return table(
    'Selected contacts of batches',
    [
      ['Batch', ({ batch }) => html`<a href="/batches/${batch}">${batch}</a>`],
      ['Template', ({ template }) => template],
      ['Contacts', ({ contacts }) => formatCount(contacts), 'number'],
      ['Since', ({ at }) => moment(at, now)],
      ['Codes', ({ codes }) => html`<code>${codes.join(', ')}</code>`],
    ],
    batches,
  );
}

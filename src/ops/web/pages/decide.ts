import type { z } from 'zod';
import { countOf, formatCount } from '../../../format/format.ts';
import { resolveUnknown } from '../../operations/resolve.ts';
import type { OperationOutput } from '../../operations/operations.ts';
import { previewUnknowns } from '../../operations/unknown.ts';
import { html, type Html, type Part } from '../http/html.ts';
import * as ui from './elements.ts';
import { page } from './layout.ts';

const selection = previewUnknowns.input.pick({
  all: true,
  code: true,
  template: true,
  batch: true,
  chunk: true,
  before: true,
});

/** What a filter selects of the unknown outcomes, with its number of contacts, and the form to decide on all of it. */
export const DECIDE = page({
  path: '/decide',
  title: 'Decide',
  nav: '/notices',
  summary: 'What a filter selects of the unknown outcomes, and the form to decide on all of it.',
  perMinute: 60,
  input: selection,
  view: async (call, context) => {
    const actor = { who: call.name, why: '' };
    const found = await previewUnknowns.run(context, { ...call.input, limit: 1 }, actor);
    const { at, contacts, listed, batches } = found;
    const chosen = wordsOf(call.input);
    if (contacts === 0)
      return ui.empty('selection', ui.para(`No unknown outcome matches${chosen}.`));
    // Not what becomes unknown after it was shown.
    const given = { ...call.input, before: call.input.before ?? at };
    const table = batches.length > 0 && batchTable(batches, call);
    const ofBatches = `, and ${countOf(batches.length, 'batch', 'batches')}`;
    return html`<p>
        The service may or may not have accepted these notices: a response was lost, or a worker
        died during a request. They are not sent again automatically. Look them up at the service,
        then decide.
      </p>
      <section class="card" id="selection">
        <h2>Selected${chosen}</h2>
        <p>
          ${countOf(contacts, 'contact')}:
          ${countOf(listed, 'single notice')}${call.input.all !== true && ofBatches}.
        </p>
        ${table} ${ui.mayAct(call) && download(given)}
        ${decision(call, given, `all ${countOf(contacts, 'contact')}`)}
      </section>`;
  },
});

const download = (given: ui.GivenInput) =>
  ui.para([
    ui.link(ui.linkWith('/api/v1/unknown.csv', given), 'Download their numbers and trace ids'),
    ' (recorded in the audit stream)',
  ]);

/** Possible decisions and their meaning. */
const DECISIONS = [
  ['accepted', 'The service accepted it: settle it as accepted.'],
  ['resend', 'Send it again. It may arrive twice.'],
  ['discard', 'Settle it without sending it again.'],
] as const;

/** The form that decides on unknown outcomes. @param what in words */
export function decision(view: ui.PageView, given: ui.GivenInput, what: string): Html | false {
  const choices = html`<fieldset>
    <legend>Decide on ${what}</legend>
    ${DECISIONS.map(
      ([as, meaning]) =>
        html`<label class="choice">
          <input type="radio" name="as" value="${as}" required />
          <span><strong>${as}</strong> ${meaning}</span>
        </label>`,
    )}
  </fieldset>`;
  return ui.action(view, resolveUnknown, {
    opens: `Decide on ${what}...`,
    given,
    more: choices,
    button: 'Decide',
    next: '/notices',
  });
}

/** The filter in words, after a colon; empty where it selects everything. */
function wordsOf(given: z.output<typeof selection>): string {
  const { all, code: of, template, batch, chunk, before } = given;
  const words = [
    all === true && 'only single notices',
    of !== undefined && `code ${of}`,
    template !== undefined && `template ${template}`,
    batch !== undefined && `batch ${batch}`,
    chunk !== undefined && `chunk ${formatCount(chunk)}`,
    before !== undefined && `unknown since before ${new Date(before).toISOString()}`,
  ].filter((word) => word !== false);
  return words.length === 0 ? '' : `: ${words.join(', ')}`;
}

function batchTable(batches: OperationOutput<'unknown'>['batches'], { now }: ui.PageView): Part {
  return ui.table(
    'Selected contacts of batches',
    [
      ['Batch', ({ batch }) => ui.batchLink(batch)],
      ['Template', ({ template }) => template],
      ['Contacts', ({ contacts }) => formatCount(contacts), 'number'],
      ['Since', ({ at }) => ui.moment(at, now)],
      ['Codes', ({ codes }) => ui.code(codes.join(', '))],
    ],
    batches,
  );
}

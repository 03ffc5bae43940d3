import { z } from 'zod';
import { countOf, formatCount } from '../../../format/format.ts';
import { parseInput } from '../../../contracts/parse-input.ts';
import { WAITING_STATES, type WaitingGroup } from '../../../notices/waiting.ts';
import { liftHold, placeHold, showHold } from '../../operations/hold.ts';
import type { OperationOutput } from '../../operations/operations.ts';
import { cancelSelected, listWaiting } from '../../operations/waiting.ts';
import { html, type Html, type Part } from '../http/html.ts';
import * as ui from './elements.ts';
import { page } from './layout.ts';

/** The single notices that wait, by template, and the forms that cancel them or hold their template. */
export const WAITING = page({
  path: '/waiting',
  title: 'Waiting',
  summary:
    'The single notices that wait, by template, and the forms that cancel them or hold a template.',
  perMinute: 60,
  input: listWaiting.input
    .pick({ state: true, template: true })
    .extend({ queuedAfter: z.string().optional() }),
  view: async (call, context) => {
    const actor = { who: call.name, why: '', bounded: true };
    const given = call.input;
    const select = parseInput(listWaiting.input, given, 'REQUEST_INVALID');
    const [found, { templates }] = await Promise.all([
      listWaiting.run(context, select, actor),
      showHold.run(context, {}, actor),
    ]);
    const held = new Set(templates.map(({ template }) => template));
    const form = ui.filter('/waiting', given, [
      ['state', 'State', ui.choicesOf(WAITING_STATES)],
      ['template', 'Template', ''],
      ['queuedAfter', 'Queued within', ui.PERIODS],
    ]);
    const waiting = { ...found, held, queuedAfter: given.queuedAfter };
    return [form, shown(waiting, ui.isFiltered(given), call)];
  },
});

type Waiting = OperationOutput<'waiting'> & {
  readonly held: ReadonlySet<string>;
  readonly queuedAfter: string | undefined;
};

function shown(waiting: Waiting, isFiltered: boolean, view: ui.PageView): Html {
  const { groups, notices, contacts, complete, held } = waiting;
  const rest = complete ? '' : ', of those that were read; there are more';
  const sum = `${countOf(notices, 'notice')}, ${countOf(contacts, 'contact')}${rest}.`;
  const list = ui.table<WaitingGroup>(
    'Notices that wait',
    [
      ['Template', ({ template }) => template],
      [
        'State',
        ({ state, template }) => [state, held.has(template) && [' ', ui.tag('held', 'bad')]],
      ],
      ['Notices', (one) => formatCount(one.notices), 'number'],
      ['Contacts', (one) => formatCount(one.contacts), 'number'],
      ['Oldest', ({ oldest }) => ui.moment(oldest, view.now)],
      ['Newest', ({ newest }) => ui.moment(newest, view.now)],
    ],
    groups,
    (group) => group.template !== '' && actions(group, waiting, view),
  );
  const none = `No single notice waits${isFiltered ? ' that matches' : ''}.`;
  const where = html`<p class="quiet small">
    Delayed ones wait for their time or their next attempt. Contacts of lists are on
    <a href="/batches">Batches</a>.
  </p>`;
  const all = groups.length === 0 ? ui.para(none) : [ui.para(sum), list];
  return ui.card('waiting', undefined, [all, where], false);
}

function actions(
  { state, template, notices, contacts, oldest }: WaitingGroup,
  { at, complete, held, queuedAfter }: Waiting,
  view: ui.PageView,
): Part {
  const what = complete ? countOf(notices, 'notice') : 'all of them';
  const which = complete ? `${what} (${countOf(contacts, 'contact')})` : 'All notices';
  const cancel = ui.action(view, cancelSelected, {
    opens: 'Cancel...',
    says: `${which} of ${template}, ${state} now, will never be sent; what is queued from now on is. This cannot be undone.`,
    given: {
      template,
      state,
      queuedBefore: at,
      queuedAfter: queuedAfter === undefined ? undefined : oldest,
    },
    asks: { releaseKey: 'Release their idempotency keys, so that they can be sent anew' },
    button: `Cancel ${what}`,
    danger: true,
  });
  const hold = held.has(template)
    ? ui.action(view, liftHold, {
        opens: 'Lift the hold...',
        says: `Notices and lists of ${template} are sent again.`,
        given: { template },
        button: 'Lift the hold',
      })
    : ui.action(view, placeHold, {
        opens: 'Hold the template...',
        says: `Notices and lists of ${template} wait; all others are sent.`,
        given: { template },
        button: 'Hold the template',
      });
  return ui.acts(cancel, hold);
}

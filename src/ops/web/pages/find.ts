import { z } from 'zod';
import { lookUpNumber } from '../../../batch/source/check-number.ts';
import { countOf, formatCount } from '../../../format/format.ts';
import { SOME_LEFT_OUT } from '../../notice-words.ts';
import type { FindReport } from '../../../search/find-answer.ts';
import { canFind, findFor, FINDS_PER_MINUTE } from '../../operations/number.ts';
import { html, type Html, type Part } from '../http/html.ts';
import type { Route } from '../http/route.ts';
import * as ui from './elements.ts';
import { page } from './layout.ts';

/**
 * Searches what happened to the notices for one phone number. The number is sent in a form and never
 * returned: it is in no URL, no browser history and no page.
 */
export const FIND: readonly Route[] = [
  page({
    path: '/find',
    title: 'Find',
    summary: 'The search form for a phone number.',
    view: (call, context) => (canFind(context) ? searchForm(call) : SWITCHED_OFF),
  }),
  page({
    reads: true,
    path: '/find',
    title: 'Find',
    summary: 'What happened to the notices for that number.',
    perMinute: FINDS_PER_MINUTE,
    // An invalid number is reported on the page itself.
    input: z.object({ number: z.string().default('') }),
    view: async (call, context) => {
      const { number } = call.input;
      const isOn = canFind(context);
      const checked = lookUpNumber(number);
      if (isOn && checked.kind !== 'refused') {
        const report = await findFor(context, { who: call.name, why: '' }, checked.number);
        return [searchForm(call), outcome(report, call)];
      }
      void call.reply.code(isOn ? 400 : 409);
      return isOn && checked.kind === 'refused' ? searchForm(call, checked.reason) : SWITCHED_OFF;
    },
  }),
];

const SWITCHED_OFF = html`<section class="card empty">
  <p>The search is off because FIND_KEY is not set.</p>
  <p>
    To switch it on, set FIND_KEY to the same 32 random bytes for all producers, all importers and
    this server, and restart them. <code>openssl rand -hex 32</code> creates such a key. The search
    finds what is enqueued from then on.
  </p>
</section>`;

function searchForm({ csrf }: ui.PageView, problem?: string): Html {
  const isWrong = problem !== undefined;
  return html`<form method="post" action="/find" class="card narrow">
    ${ui.hidden('_csrf', csrf)}
    <label
      >Phone number
      <input
        name="number"
        inputmode="tel"
        autocomplete="off"
        required
        aria-describedby="${isWrong && 'number-problem '}number-help"
        ${isWrong && html`aria-invalid="true" autofocus`}
    /></label>
    ${isWrong && html`<p class="problem" id="number-problem" role="alert">Not searched: ${problem}.</p>`}
    <p class="quiet small" id="number-help">
      In the national format, such as 01012345678. It is not stored and not shown again.
    </p>
    <p><button type="submit">Find</button></p>
  </form>`;
}

type FoundRow = FindReport['notices'][number] | FindReport['contacts'][number];

function outcome({ notices, contacts, searched }: FindReport, view: ui.PageView): Html {
  const { now } = view;
  const rows: readonly FoundRow[] = [...notices, ...contacts];
  const found = ui.table<FoundRow>(
    'Search results',
    [
      ['Where', where],
      ['State', stateOf],
      ['Confirmed', confirmedOf],
      ['Since', ({ at }) => ui.moment(at, now)],
      ['Code', (one) => ui.code(one.code)],
      ['Template', ({ template }) => template],
    ],
    rows,
  );
  const none = html`<p role="status">Nothing was found.</p>`;
  return ui.card(
    'found',
    'Found',
    [rows.length === 0 ? none : found, coverage(searched, now)],
    false,
  );
}

function where(one: FoundRow): Part {
  if ('job' in one) return ['notice ', ui.noticeLink(one.job)];
  const { batch, row, chunk } = one;
  const place = row === undefined ? `chunk ${formatCount(chunk)}` : `row ${formatCount(row)}`;
  return ['batch ', ui.batchLink(batch), `, ${place}`];
}

/** A single possible state is shown with its colour. */
function stateOf(one: FoundRow): Part {
  const { states, possiblySent: sent = 0 } = one;
  const [first = ''] = states;
  return [
    states.length === 1 ? ui.dot(first) : states.join(' or '),
    sent > 0 && `, ${countOf(sent, 'attempt')} possibly sent`,
  ];
}

function confirmedOf(one: FoundRow): string {
  if (one.confirmed) return 'yes';
  if (!('job' in one)) return 'probably: the contact has been deleted';
  return one.template === undefined ? 'no: the job is no longer kept' : SOME_LEFT_OUT;
}

function coverage(searched: FindReport['searched'], now: number): Part {
  const { since, batches, contacts, unindexedChunks } = searched;
  return [
    ui.quiet([
      'Searched what was enqueued ',
      ui.moment(since, now, (span) => `in the last ${span}`),
      `: single notices, and ${countOf(contacts, 'contact')} of ${countOf(batches, 'batch', 'batches')}.`,
    ]),
    unindexedChunks > 0 &&
      ui.note(
        `${countOf(unindexedChunks, 'chunk')} could not be searched: stored without FIND_KEY, or too long ago.`,
      ),
  ];
}

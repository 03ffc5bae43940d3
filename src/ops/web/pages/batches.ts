import { z } from 'zod';
import { BATCH_PHASES } from '../../../batch/ledger/batch-record.ts';
import { InputError } from '../../../contracts/errors.ts';
import { END_STATES } from '../../../contracts/outcome.ts';
import { parseInput } from '../../../contracts/parse-input.ts';
import { countOf, formatCount, formatRate } from '../../../format/format.ts';
import type { BatchAnswer } from '../../answers/batch.ts';
import { batches as operation, listBatches } from '../../operations/batches.ts';
import { html, type Html, type Part } from '../http/html.ts';
import * as ui from './elements.ts';
import { page } from './layout.ts';

const PAGE_SIZE = 50;

/** The script adds the zone of the browser to a time without one, and takes UTC out of the label. */
const EXAMPLE = 'such as 24h or 2026-01-31T09:30';

/** It is read again, so that the form shows also what is invalid. */
const text = z.string().max(40, 'expected at most 40 characters').optional();

/** The list of batches, newest first, and the form that filters it. */
export const BATCHES = page({
  path: '/batches',
  title: 'Batches',
  summary: 'The list of batches, filtered by phase and time.',
  input: operation.input.pick({ offset: true }).extend({ phase: text, since: text, before: text }),
  view: async ({ input: { offset, ...given }, now, reply }, context) => {
    const form = (problem?: string) =>
      ui.filter(
        '/batches',
        given,
        [
          ['phase', 'Phase', ui.choicesOf(BATCH_PHASES)],
          ['since', 'Created since (UTC)', EXAMPLE],
          ['before', 'and before (UTC)', EXAMPLE],
        ],
        problem,
      );
    try {
      const select = { ...given, offset, limit: PAGE_SIZE };
      const input = parseInput(operation.input, select, 'REQUEST_INVALID');
      const list = await listBatches(context, input, now);
      const { batches, total, next } = list;
      if (total === 0 && !ui.isFiltered(given)) return NONE;
      const older = next !== null && ui.linkWith('/batches', { ...given, offset: next });
      return [
        form(),
        batches.length === 0
          ? ui.empty('batches', ui.para('No batch matches.'))
          : tableOf(batches, now),
        html`<nav class="pages" aria-label="Pages of the list">
          <span class="quiet">${rangeOf(list, offset, given.phase)}</span>
          ${offset > 0 && ui.link(ui.linkWith('/batches', given), 'Newest')}
          ${older !== false && ui.link(older, 'Older')}
        </nav>`,
      ];
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      void reply.code(400);
      return form(error.message);
    }
  },
});

const NONE = ui.empty('batches', [
  ui.para('There are no batches. Importing a list creates one:'),
  html`<pre>${ui.code('notices import customers.csv --template ORDER_SHIPPED')}</pre>`,
]);

/** Which part of the list is shown. With a phase the others are left out, so only the number is known. */
function rangeOf(
  { batches: { length }, total, next }: Awaited<ReturnType<typeof listBatches>>,
  offset: number,
  phase: string | undefined,
): string {
  if (phase === undefined) {
    return `${length === 0 ? 0 : offset + 1} to ${offset + length} of ${formatCount(total)}`;
  }
  const read = (next ?? total) - offset;
  return `${countOf(length, `${phase} batch`, `${phase} batches`)} among ${formatCount(read)} of ${formatCount(total)}`;
}

function tableOf(batches: readonly BatchAnswer[], now: number): Html {
  const progress = ({ counts, phase, stalled, lossNear }: BatchAnswer) => [
    stateBar(counts),
    ui.tag(phase),
    stalled && [' ', ui.tag('stalled')],
    lossNear !== undefined &&
      html` <span class="tag bad">deleted ${ui.moment(lossNear.keptUntil, now)}</span>`,
  ];
  const notAccepted = ({ counts: { rejected, expired, cancelled, unknown } }: BatchAnswer) => [
    formatCount(rejected + expired + cancelled),
    unknown > 0 && [html`<br />`, ui.link('/notices', `${formatCount(unknown)} unknown`)],
  ];
  const rate = ({ phase, stalled, perSecond, restMs }: BatchAnswer): Part => [
    phase === 'sending' && !stalled && `${formatRate(perSecond)}/s`,
    restMs !== null && [html`<br />`, ui.moment(now + restMs, now, (span) => `${span} left`)],
  ];
  const list = ui.table<BatchAnswer>(
    'Batches',
    [
      [
        'Batch',
        ({ id, templateCode }) => [
          ui.link(`/batches/${id}`, html`<strong>${id}</strong>`),
          html` <br /><span class="quiet">${templateCode}</span>`,
        ],
      ],
      ['Progress', progress, 'wide'],
      ['Contacts', ({ counts }) => formatCount(counts.total), 'number'],
      ['Not accepted', notAccepted, 'number'],
      ['Rate', rate, 'number'],
      ['Started', ({ begunAt }) => ui.moment(begunAt, now)],
    ],
    batches,
  );
  return ui.card('batches', undefined, list);
}

const WIDTH = 1_000;

/** The progress of a batch as a bar, with a text for screen readers. Every state that occurs is visible; the empty rest is pending. */
export function stateBar(counts: BatchAnswer['counts']): Html {
  const words = [...END_STATES, 'pending' as const]
    .filter((state) => counts[state] > 0)
    .map((state) => `${formatCount(counts[state])} ${state}`);
  let from = 0;
  const segment = (state: (typeof END_STATES)[number]) => {
    const width = Math.max(counts[state] === 0 ? 0 : 5, (counts[state] * WIDTH) / counts.total);
    const x = Math.min(from, WIDTH - width);
    from = x + width;
    return (
      counts[state] > 0 && html`<rect class="${state}" x="${x}" width="${width}" height="10" />`
    );
  };
  return html`<svg
    class="bar"
    role="img"
    aria-label="${words.length === 0 ? 'nothing settled yet' : words.join(', ')}"
    viewBox="0 0 ${WIDTH} 10"
    preserveAspectRatio="none"
  >
    <rect class="pending" width="${WIDTH}" height="10" />
    ${END_STATES.map(segment)}
  </svg>`;
}

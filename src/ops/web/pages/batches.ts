import type { BatchFilterText } from '../../../batch/ledger/batch-filter.ts';
import { BATCH_PHASES } from '../../../batch/ledger/batch-record.ts';
import { countOf, formatCount, formatRate } from '../../../format/format.ts';
import type { BatchAnswer } from '../../answers/batch-schemas.ts';
import { html, type Html } from '../http/html.ts';
import { moment, table, type PageView } from './elements.ts';
import { choiceField, filterForm, linkWith, PERIODS, textField } from './filter-form.ts';

/** A page of the list. */
export interface BatchList {
  readonly batches: readonly BatchAnswer[];
  readonly total: number;
  readonly offset: number;
  /** Offset of the next page; null at the end. */
  readonly next: number | null;
  /** The filter as it was typed. Default: none */
  readonly given?: BatchFilterText;
  /** Why the filter is not valid; nothing was read then. */
  readonly problem?: string;
}

/** The list of batches, newest first, and the form that filters it. */
export function batchesPage(list: BatchList, view: PageView): Html {
  const { batches, total, offset, next, given = {}, problem } = list;
  const chosen = Object.values(given).some((text) => text !== undefined);
  const filter = filterOf(given, chosen, problem);
  if (problem !== undefined) return filter;
  if (total === 0 && !chosen) {
    return html`<section class="card empty">
      <p>There are no batches. Importing a list creates one:</p>
      <pre><code>notices import customers.csv --template ORDER_SHIPPED</code></pre>
    </section>`;
  }
  return html`${filter} ${batches.length === 0 ? NOTHING : listOf(batches, view)}
    <nav class="pages" aria-label="Pages of the list">
      <span class="quiet">${rangeOf(list)}</span>
      ${offset > 0 && html`<a href="${linkWith('/batches', { ...given })}">Newest</a>`}
      ${next !== null && html`<a href="${linkWith('/batches', { ...given, offset: next })}">Older</a>`}
    </nav>`;
}

const NOTHING = html`<section class="card empty" id="batches"><p>No batch matches.</p></section>`;

function filterOf(
  { phase, within, since, before }: BatchFilterText,
  chosen: boolean,
  problem: string | undefined,
): Html {
  const phases = [['', 'any'], ...BATCH_PHASES.map((one) => [one, one] as const)] as const;
  const example = 'such as 2026-01-31T09:30';
  return filterForm(
    '/batches',
    [
      choiceField({ name: 'phase', label: 'Phase', value: phase }, phases),
      choiceField({ name: 'within', label: 'Created within', value: within }, PERIODS),
      textField({ name: 'since', label: 'or created since (UTC)', value: since }, example),
      textField({ name: 'before', label: 'and before (UTC)', value: before }, example),
    ],
    { chosen, problem },
  );
}

/** Which part of the list is shown. With a phase the others are left out, so only the number is known. */
function rangeOf({ batches, total, offset, given = {}, next }: BatchList): string {
  const { phase } = given;
  if (phase === undefined) {
    return `${batches.length === 0 ? 0 : offset + 1} to ${offset + batches.length} of ${formatCount(total)}`;
  }
  const read = (next ?? total) - offset;
  return `${countOf(batches.length, `${phase} batch`, `${phase} batches`)} among ${formatCount(read)} of ${formatCount(total)}`;
}

const timeLeft = (span: string): string => `${span} left`;

/** The badge of a batch that makes no progress although nothing holds it. */
export const STALLED_TAG = html`<span class="tag stalled">stalled</span>`;

function listOf(batches: readonly BatchAnswer[], { now }: PageView): Html {
  return html`<section class="card" id="batches" data-refresh>
    ${table<BatchAnswer>(
      'Batches',
      [
        [
          'Batch',
          ({ id, templateCode }) =>
            html`<a href="/batches/${id}"><strong>${id}</strong></a> <br /><span class="quiet"
                >${templateCode}</span
              >`,
        ],
        [
          'Progress',
          ({ counts, phase, stalled, lossNear }) =>
            html`${stateBar(counts)}<span class="tag ${phase}">${phase}</span>
              ${stalled && STALLED_TAG}
              ${lossNear !== undefined && html`<span class="tag bad">deleted ${moment(lossNear.keptUntil, now)}</span>`}`,
          'wide',
        ],
        ['Contacts', ({ counts }) => formatCount(counts.total), 'number'],
        [
          'Not accepted',
          ({ counts: { rejected, expired, cancelled, unknown } }) =>
            html`${formatCount(rejected + expired + cancelled)}
            ${unknown > 0 && html`<br /><a href="/unknown">${formatCount(unknown)} unknown</a>`}`,
          'number',
        ],
        [
          'Rate',
          ({ phase, stalled, perSecond, restMs }) => [
            phase === 'sending' && !stalled && html`${formatRate(perSecond)}/s`,
            restMs !== null && html`<br />${moment(now + restMs, now, timeLeft)}`,
          ],
          'number',
        ],
        ['Started', ({ begunAt }) => moment(begunAt, now)],
      ],
      batches,
    )}
  </section>`;
}

/** States of contacts in the order of the bar; the empty rest of it is pending. */
export const BAR_STATES = ['accepted', 'rejected', 'unknown', 'expired', 'cancelled'] as const;

const WIDTH = 1_000;

/** One segment of a bar, in thousandths of its width. */
interface Segment {
  readonly state: (typeof BAR_STATES)[number];
  readonly from: number;
  readonly width: number;
}

/**
 * Divides a bar by the counts. Every state that occurs is visible: one contact of a million is a
 * thousandth wide, taken from the widest segment.
 */
export function segments(counts: BatchAnswer['counts']): Segment[] {
  const { total } = counts;
  if (total === 0) return [];
  const widths = BAR_STATES.map((state) => {
    const exact = (counts[state] * WIDTH) / total;
    return counts[state] === 0 ? 0 : Math.max(1, Math.floor(exact));
  });
  const over = widths.reduce((sum, width) => sum + width, 0) - WIDTH;
  const widest = widths.indexOf(Math.max(...widths));
  if (over > 0) widths[widest] = (widths[widest] ?? 0) - over;
  let from = 0;
  return BAR_STATES.flatMap((state, index) => {
    const width = widths[index] ?? 0;
    const segment = { state, from, width };
    from += width;
    return width === 0 ? [] : [segment];
  });
}

/** The progress of a batch as a bar, with a text for screen readers. */
export function stateBar(counts: BatchAnswer['counts']): Html {
  const words = [...BAR_STATES, 'pending' as const]
    .filter((state) => counts[state] > 0)
    .map((state) => `${formatCount(counts[state])} ${state}`)
    .join(', ');
  return html`<svg
    class="bar"
    role="img"
    aria-label="${words === '' ? 'nothing settled yet' : words}"
    viewBox="0 0 ${WIDTH} 10"
    preserveAspectRatio="none"
  >
    <rect class="pending" x="0" y="0" width="${WIDTH}" height="10"></rect>
    ${segments(counts).map(
      ({ state, from, width }) =>
        html`<rect class="${state}" x="${from}" y="0" width="${width}" height="10"></rect>`,
    )}
  </svg>`;
}

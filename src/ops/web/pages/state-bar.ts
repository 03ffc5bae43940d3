import type { BatchAnswer } from '../answers.ts';
import { html, type Html } from '../http/html.ts';
import { count } from './page-parts.ts';

/** The states of contacts in the order in which the bar shows them; pending is what is left empty. */
export const BAR_STATES = ['accepted', 'rejected', 'unknown', 'expired', 'cancelled'] as const;

const WIDTH = 1_000;

/** One part of a bar, in thousandths of it. */
interface Segment {
  readonly state: (typeof BAR_STATES)[number];
  readonly from: number;
  readonly width: number;
}

/**
 * Cuts a bar by the counts. What is there is seen: a state with one contact of a million is a
 * thousandth wide, taken from the widest.
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

/** How far a batch has come, as a bar; in words for whoever does not see it. */
export function stateBar(counts: BatchAnswer['counts']): Html {
  const words = [...BAR_STATES, 'pending' as const]
    .filter((state) => counts[state] > 0)
    .map((state) => `${count(counts[state])} ${state}`)
    .join(', ');
  return html`<svg
    class="bar"
    role="img"
    aria-label="${words === '' ? 'nothing yet' : words}"
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

import type { BatchAnswer } from '../answers.ts';
import { html, type Html } from '../http/html.ts';
import { count, head, moment, rate, span, table, type PageView } from './page-parts.ts';
import { stateBar } from './state-bar.ts';

/** A page of the list. */
export interface BatchList {
  readonly batches: readonly BatchAnswer[];
  readonly total: number;
  readonly offset: number;
  /** Offset of the next page; null at the end. */
  readonly next: number | null;
}

/** The batches that are kept, the newest first. */
export function batchesPage({ batches, total, offset, next }: BatchList, look: PageView): Html {
  if (batches.length === 0) {
    return html`<section class="card empty">
      <p>No batch is kept. A list becomes one when it is imported:</p>
      <pre><code>notices import customers.csv --template ORDER_SHIPPED</code></pre>
    </section>`;
  }
  return html`<section class="card" id="batches" data-refresh>
      ${table(
        'Batches',
        [
          head('Batch'),
          head('Progress'),
          head('Contacts', true),
          head('Not accepted', true),
          head('Pace', true),
          head('Begun'),
        ],
        batches.map((batch) => row(batch, look)),
      )}
    </section>
    <nav class="pages" aria-label="Pages of the list">
      <span class="quiet">${offset + 1} to ${offset + batches.length} of ${count(total)}</span>
      ${offset > 0 && html`<a href="/batches">Newest</a>`}
      ${next !== null && html`<a href="/batches?offset=${next}">Older</a>`}
    </nav>`;
}

function row(batch: BatchAnswer, { now }: PageView): Html {
  const { id, templateCode, phase, counts, perSecond, restMs, begunAt, lossNear } = batch;
  const { rejected, unknown, expired, cancelled } = counts;
  return html`<tr>
    <td>
      <a href="/batches/${id}"><strong>${id}</strong></a>
      <br /><span class="quiet">${templateCode}</span>
    </td>
    <td class="wide">
      ${stateBar(counts)}<span class="tag ${phase}">${phase}</span>
      ${lossNear !== undefined && html`<span class="tag bad">deleted ${moment(lossNear.keptUntil, now)}</span>`}
    </td>
    <td class="number">${count(counts.total)}</td>
    <td class="number">
      ${count(rejected + expired + cancelled)}
      ${unknown > 0 && html`<br /><a href="/unknown">${count(unknown)} unknown</a>`}
    </td>
    <td class="number">
      ${phase === 'sending' ? html`${rate(perSecond)}/s` : ''}
      ${restMs !== null && html`<br /><span class="quiet">${span(restMs)} left</span>`}
    </td>
    <td>${moment(begunAt, now)}</td>
  </tr>`;
}

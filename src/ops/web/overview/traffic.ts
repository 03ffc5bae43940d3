import { formatCount, formatRate } from '../../../format/format.ts';
import { LANES } from '../../../contracts/seen-attempt.ts';
import type { SeenWorker } from '../../../fleet/heartbeat.ts';
import type { Traffic, TrafficCount } from '../../../traffic/traffic.ts';
import { html, type Html } from '../http/html.ts';
import { head, table } from '../pages/elements.ts';

/** Meaning of each outcome, for the table. */
const MEANINGS = {
  accepted: 'the service accepted it',
  rejected: 'the service rejected it',
  unknown: 'the service may have accepted it',
  retry: 'provably not accepted: tried again',
} as const;

const OUTCOMES = ['accepted', 'rejected', 'unknown', 'retry'] as const;

/**
 * The present rate as the workers report it, and the last three hours: sums as HTML, a chart where the browser runs
 * scripts. The chart stays in place when the figures around it are refreshed.
 */
export function trafficSection(traffic: Traffic, workers: readonly SeenWorker[]): Html {
  return html`<section class="card" id="traffic">
    <h2>Traffic</h2>
    ${figures(workers)}
    <figure data-traffic hidden>
      <figcaption>
        Sent per second
        <ul class="legend">
          ${['requests', 'contacts'].map(
            (line, index) =>
              html`<li data-line="${line}">
                <i class="dot line-${index + 1}"></i>${line} <output></output>
              </li>`,
          )}
        </ul>
      </figcaption>
      <div class="plot" role="img" aria-label="Sent per second, over time"></div>
    </figure>
    ${sums(traffic)}
  </section>`;
}

function figures(workers: readonly SeenWorker[]): Html {
  const rate = (of: 'requests' | 'contacts') =>
    formatRate(
      workers.reduce(
        (sum, { sent }) =>
          sent === undefined || sent.forMs === 0 ? sum : sum + (sent[of] * 1_000) / sent.forMs,
        0,
      ),
    );
  return html`<dl class="tiles" id="traffic-now" data-refresh>
    <div>
      <dt>requests per second</dt>
      <dd>${rate('requests')}</dd>
    </div>
    <div>
      <dt>contacts per second</dt>
      <dd>${rate('contacts')}</dd>
    </div>
  </dl>`;
}

function sums({ total }: Traffic): Html {
  const sum = (count: TrafficCount) => LANES.reduce((all, lane) => all + total[lane][count], 0);
  const made = OUTCOMES.filter((outcome) => sum(outcome) > 0);
  if (made.length === 0) {
    return html`<p class="quiet" id="traffic-sums" data-refresh>
      Nothing was sent in the last 3 hours.
    </p>`;
  }
  return html`<div id="traffic-sums" data-refresh>
    ${table(
      'Contacts of the last 3 hours by the outcome of their attempts',
      [
        head('Outcome'),
        head('Contacts of notices', true),
        head('Contacts of batches', true),
        head('Meaning'),
      ],
      made.map(
        (outcome) =>
          html`<tr>
            <td><i class="dot ${outcome}"></i>${outcome}</td>
            ${LANES.map((lane) => html`<td class="number">${formatCount(total[lane][outcome])}</td>`)}
            <td class="quiet">${MEANINGS[outcome]}</td>
          </tr>`,
      ),
    )}
  </div>`;
}

import { OUTCOME_KINDS, type OutcomeKind } from '../../../contracts/outcome.ts';
import type { Percentiles } from '../../../traffic/histogram.ts';
import type { Traffic } from '../../../traffic/read-traffic.ts';
import { html, type Html } from '../http/html.ts';
import { count, head, rate, table } from './elements.ts';

/** How far back a visitor may look, in minutes. */
const TRAFFIC_SPANS = [
  [10, '10 minutes'],
  [60, 'hour'],
  [180, '3 hours'],
  [720, '12 hours'],
  [2_880, '2 days'],
] as const;

/** What an outcome means, as the table says it. */
const MEANINGS: Readonly<Record<OutcomeKind, string>> = {
  accepted: 'the service took it',
  rejected: 'the service refused it for itself',
  retry: 'provably nothing was taken: tried again',
  hold: 'not its fault: went back unspent',
  unknown: 'it may have been taken',
  expired: 'its deadline passed first',
  cancelled: 'its batch was cancelled first',
};

/**
 * What was sent of late: figures and sums as they are, charts where the browser runs our script. The
 * charts stay when the figures around them are put anew.
 *
 * @param minutes how far it goes back
 */
export function trafficSection(traffic: Traffic, minutes: number): Html {
  return html`<section class="card" id="traffic">
    <h2>Traffic</h2>
    ${figures(traffic)}
    <nav class="spans" aria-label="How far back">
      ${TRAFFIC_SPANS.map(
        ([length, name]) =>
          html`<a href="/?minutes=${length}" ${length === minutes && html`aria-current="true"`}
            >${name}</a
          >`,
      )}
    </nav>
    <div class="charts" data-traffic="${minutes}" hidden>
      ${chart('rates', 'Sent a second', ['requests', 'contacts'])}
      ${chart('answers', 'How long the service takes to answer', ['p50', 'p95', 'p99'])}
    </div>
    ${sums(traffic, minutes)}
  </section>`;
}

function figures({ now: { spanMs, requests, contacts, answerMs } }: Traffic): Html {
  const perSecond = (sum: number) => (spanMs > 0 ? rate((sum * 1_000) / spanMs) : '0');
  return html`<dl class="tiles" id="traffic-now" data-refresh>
    <div>
      <dt>sends a second</dt>
      <dd>${perSecond(requests)}</dd>
    </div>
    <div>
      <dt>contacts a second</dt>
      <dd>${perSecond(contacts.accepted)}</dd>
    </div>
    ${(['p50', 'p95', 'p99'] as const).map((name) => percentile(name, answerMs))}
  </dl>`;
}

/** A time in which services answer: finer than a span of waiting. */
function answerTime(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

const SHARES = { p50: 'half', p95: '95 of 100', p99: '99 of 100' } as const;

function percentile(name: keyof typeof SHARES, measured: Percentiles | undefined): Html {
  return html`<div>
    <dt title="${SHARES[name]} of the service's answers came within this time">answers ${name}</dt>
    <dd>
      ${measured === undefined ? html`<span class="quiet">none</span>` : answerTime(measured[name])}
    </dd>
  </div>`;
}

/** A place for a chart; the colours of its lines are those of its legend. */
function chart(name: string, title: string, lines: readonly string[]): Html {
  return html`<figure data-chart="${name}">
    <figcaption>
      ${title}
      <ul class="legend">
        ${lines.map(
          (line, index) =>
            html`<li data-line="${line}">
              <i class="dot line-${index + 1}"></i>${line} <output></output>
            </li>`,
        )}
      </ul>
    </figcaption>
    <div class="plot" role="img" aria-label="${title}, over time"></div>
  </figure>`;
}

function sums({ total }: Traffic, minutes: number): Html {
  const name = TRAFFIC_SPANS.find(([length]) => length === minutes)?.[1] ?? `${minutes} minutes`;
  const made = OUTCOME_KINDS.filter((kind) => total.attempts[kind] > 0);
  if (made.length === 0) {
    return html`<p class="quiet" id="traffic-sums" data-refresh>
      Nothing was sent in the last ${name}.
    </p>`;
  }
  return html`<div id="traffic-sums" data-refresh>
    ${table(
      `Attempts of the last ${name} by outcome`,
      [head('Outcome'), head('Attempts', true), head('Contacts', true), head('Meaning')],
      made.map(
        (kind) =>
          html`<tr>
            <td><i class="dot ${kind}"></i>${kind}</td>
            <td class="number">${count(total.attempts[kind])}</td>
            <td class="number">${count(total.contacts[kind])}</td>
            <td class="quiet">${MEANINGS[kind]}</td>
          </tr>`,
      ),
    )}
  </div>`;
}

import { countOf, formatCount, formatRate } from '../../../format/format.ts';
import { OUTCOME_KINDS, type OutcomeKind } from '../../../contracts/outcome.ts';
import type { Percentiles } from '../../../traffic/histogram.ts';
import type { Traffic } from '../../../traffic/read-traffic.ts';
import { html, type Html } from '../http/html.ts';
import { head, table } from '../pages/elements.ts';

/** How far back a visitor may view, in minutes. */
const TRAFFIC_SPANS = [
  [10, '10 minutes'],
  [60, 'hour'],
  [180, '3 hours'],
  [720, '12 hours'],
  [2_880, '2 days'],
] as const;

/** Meaning of each outcome, for the table. */
const MEANINGS: Readonly<Record<OutcomeKind, string>> = {
  accepted: 'the service accepted it',
  rejected: 'the service rejected this notice',
  retry: 'provably not accepted: tried again',
  hold: 'the queue was held: requeued without using up a retry',
  unknown: 'the service may have accepted it',
  expired: 'its deadline passed before it was sent',
  cancelled: 'its batch was cancelled before it was sent',
};

/**
 * Recent traffic: figures and sums as HTML, charts where the browser runs scripts. The charts stay in
 * place when the figures around them are refreshed.
 *
 * @param minutes the period
 */
export function trafficSection(traffic: Traffic, minutes: number): Html {
  return html`<section class="card" id="traffic">
    <h2>Traffic</h2>
    ${figures(traffic)}
    <nav class="spans" aria-label="Period">
      ${TRAFFIC_SPANS.map(
        ([length, name]) =>
          html`<a href="/?minutes=${length}" ${length === minutes && html`aria-current="true"`}
            >${name}</a
          >`,
      )}
    </nav>
    <div class="charts" data-traffic="${minutes}" hidden>
      ${chart('rates', 'Sent per second', ['requests', 'contacts'])}
      ${chart('answers', 'Response time of the service', ['p50', 'p95', 'p99'])}
    </div>
    ${sums(traffic, minutes)}
  </section>`;
}

function figures({ now: { spanMs, requests, contacts, answerMs } }: Traffic): Html {
  const perSecond = (sum: number) => (spanMs > 0 ? formatRate((sum * 1_000) / spanMs) : '0');
  return html`<dl class="tiles" id="traffic-now" data-refresh>
    <div>
      <dt>requests per second</dt>
      <dd>${perSecond(requests)}</dd>
    </div>
    <div>
      <dt>contacts per second</dt>
      <dd>${perSecond(contacts.accepted)}</dd>
    </div>
    ${(['p50', 'p95', 'p99'] as const).map((name) => percentile(name, answerMs))}
  </dl>`;
}

/** A response time: finer than formatDuration above one second. */
function responseTime(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

const SHARES = { p50: 'half', p95: '95 of 100', p99: '99 of 100' } as const;

function percentile(name: keyof typeof SHARES, measured: Percentiles | undefined): Html {
  return html`<div>
    <dt title="${SHARES[name]} of the responses took at most this time">response time ${name}</dt>
    <dd>
      ${measured === undefined ? html`<span class="quiet">none</span>` : responseTime(measured[name])}
    </dd>
  </div>`;
}

/** A placeholder for a chart; its lines have the colours of the legend. */
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
            <td class="number">${formatCount(total.attempts[kind])}</td>
            <td class="number">${formatCount(total.contacts[kind])}</td>
            <td class="quiet">${MEANINGS[kind]}</td>
          </tr>`,
      ),
    )}
    ${
      total.possiblySentTwice > 0 &&
      html`<p class="note">
        ${countOf(total.possiblySentTwice, 'contact')} sent again although the service may have
        accepted an earlier request: at most so many messages may have arrived twice.
      </p>`
    }
  </div>`;
}

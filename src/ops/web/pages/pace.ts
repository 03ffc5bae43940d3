import type { PaceStatus } from '../../../queue/pace-state.ts';
import { html, type Html } from '../html.ts';
import { count, moment, rate, type Look } from './page-parts.ts';

/** How fast the account may send: what is in force, who set it, and whether a 429 made it fall. */
export function paceSection(pace: PaceStatus | undefined, { now }: Look): Html {
  return html`<section class="card" id="pace" data-refresh>
    <h2>Pace</h2>
    ${
      pace === undefined
        ? html`<p class="quiet">Nothing limits it. Set one with <code>notices pace</code>.</p>`
        : facts(pace, now)
    }
  </section>`;
}

function facts({ configured, byHand, fall, now: inForce, lowUntil }: PaceStatus, now: number) {
  const words = (pace: number) => (pace === 0 ? 'no limit' : `${count(pace)} send calls a second`);
  return html`<dl>
      <dt>In force</dt>
      <dd>
        ${inForce === undefined ? 'no limit' : html`<strong>${rate(inForce)}</strong> send calls a second`}
      </dd>
      <dt>PACE</dt>
      <dd>${words(configured)}</dd>
      ${
        byHand !== undefined &&
        html`<dt>By hand</dt>
          <dd>${words(byHand)}, in its place</dd>`
      }
      ${
        fall !== undefined &&
        html`<dt>Last fall</dt>
          <dd>from ${rate(fall.from)} to ${rate(fall.to)} a second, ${moment(fall.at, now)}</dd>`
      }
    </dl>
    ${
      lowUntil !== undefined &&
      html`<p class="note">
        The service asked for a slower pace (429): it rises again, and is back
        ${moment(lowUntil, now)}.
      </p>`
    }`;
}

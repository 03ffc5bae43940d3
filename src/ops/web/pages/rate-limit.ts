import type { RateLimitStatus } from '../../../fleet/rate-limit/rate-limit-state.ts';
import { MAX_RATE_LIMIT } from '../../manual-rate-limit.ts';
import { html, type Html } from '../http/html.ts';
import { ask, count, form, mayAct, moment, rate, whyField, type PageView } from './elements.ts';

/** How fast the account may send: what is in force, who set it, and whether a 429 made it fall. */
export function rateLimitSection(pace: RateLimitStatus | undefined, look: PageView): Html {
  return html`<section class="card" id="pace" data-refresh>
    <h2>Pace</h2>
    ${pace === undefined ? html`<p class="quiet">Nothing limits it.</p>` : facts(pace, look.now)}
    ${mayAct(look) && html`<div class="acts">${ask('Set a pace...', paceForm(look))}</div>`}
  </section>`;
}

function facts(
  { configured, manual: byHand, fall, now: inForce, lowUntil }: RateLimitStatus,
  now: number,
) {
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

function paceForm(look: PageView): Html {
  return form(
    look,
    '/api/v1/pace',
    html`<p>
        All workers together go by it within seconds, until it is set again. It also ends what a
        fall has taken away.
      </p>
      <label for="pace-set">Send calls a second</label>
      <input
        id="pace-set"
        name="pace"
        autocomplete="off"
        autocapitalize="none"
        spellcheck="false"
        required
        pattern="[0-9]{1,6}|off|default"
        aria-describedby="pace-help"
      />
      <p class="quiet small" id="pace-help">
        1 to ${count(MAX_RATE_LIMIT)}; <code>off</code> for no limit; <code>default</code> to go by
        PACE again
      </p>
      ${whyField('why-pace')}
      <button type="submit">Set the pace</button>`,
  );
}

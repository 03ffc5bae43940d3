import { countOf, formatCount, formatRate } from '../../../format/format.ts';
import type { RateLimitStatus } from '../../../fleet/rate-limit/rate-limit-state.ts';
import { MAX_RATE_LIMIT } from '../../../fleet/rate-limit/rate-limit-state.ts';
import { html, type Html } from '../http/html.ts';
import { ask, form, mayAct, moment, whyField, type PageView } from '../pages/elements.ts';

/** The rate limit: what is in force, whether it was set manually, and whether a 429 has lowered it. */
export function rateLimitSection(status: RateLimitStatus | undefined, view: PageView): Html {
  return html`<section class="card" id="rate-limit" data-refresh>
    <h2>Rate limit</h2>
    ${status === undefined ? html`<p class="quiet">No limit is set.</p>` : facts(status, view.now)}
    ${
      mayAct(view) &&
      html`<div class="acts">${ask('Set a rate limit...', rateLimitForm(view))}</div>`
    }
  </section>`;
}

function facts({ configured, manual, fall, now: inForce, lowUntil }: RateLimitStatus, now: number) {
  const text = (limit: number) =>
    limit === 0 ? 'no limit' : `${countOf(limit, 'request')} per second`;
  return html`<dl>
      <dt>In force</dt>
      <dd>
        ${
          inForce === undefined
            ? 'no limit'
            : html`<strong>${formatRate(inForce)}</strong> requests per second`
        }
      </dd>
      <dt>Configured</dt>
      <dd>${text(configured)}</dd>
      ${
        manual !== undefined &&
        html`<dt>Set manually</dt>
          <dd>${text(manual)}, instead of the configured limit</dd>`
      }
      ${
        fall !== undefined &&
        html`<dt>Last decrease</dt>
          <dd>
            from ${formatRate(fall.from)} to ${formatRate(fall.to)} per second,
            ${moment(fall.at, now)}
          </dd>`
      }
    </dl>
    ${
      lowUntil !== undefined &&
      html`<p class="note">
        The service answered 429 (too many requests), so the limit was lowered. It rises again, and
        is fully restored ${moment(lowUntil, now)}.
      </p>`
    }`;
}

function rateLimitForm(view: PageView): Html {
  return form(
    view,
    '/api/v1/rate-limit',
    html`<p>
        All workers together apply it within seconds, until it is set again. Setting it also ends a
        decrease after a 429.
      </p>
      <label for="rate-limit-set">Requests per second</label>
      <input
        id="rate-limit-set"
        name="rateLimit"
        autocomplete="off"
        autocapitalize="none"
        spellcheck="false"
        required
        pattern="[0-9]{1,6}|off|default"
        aria-describedby="rate-limit-help"
      />
      <p class="quiet small" id="rate-limit-help">
        1 to ${formatCount(MAX_RATE_LIMIT)}; <code>off</code> for no limit; <code>default</code> for
        the configured limit
      </p>
      ${whyField('why-rate-limit')}
      <button type="submit">Set the rate limit</button>`,
  );
}

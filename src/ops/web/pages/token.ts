import type { StatusAnswer } from '../answers.ts';
import { html, type Html } from '../http/html.ts';
import { count, moment, type PageView } from './page-parts.ts';

/** The token that the fleet shares: never its value. */
export function tokenSection({ token: slot }: StatusAnswer, { now }: PageView): Html {
  return html`<section class="card" id="token" data-refresh>
    <h2>Token</h2>
    ${
      slot === undefined
        ? html`<p class="quiet">
            Not shown: the ops server does not have BASE_URL and ACCESS_KEY, which name the slot.
          </p>`
        : facts(slot, now)
    }
  </section>`;
}

function facts(slot: NonNullable<StatusAnswer['token']>, now: number): Html {
  const { token: stored, refusal, issuing, issuances } = slot;
  return html`<dl>
    <dt>Token</dt>
    <dd>
      ${stored === undefined ? (issuing ? 'being issued' : 'none yet') : html`<code>${stored.id}</code>`}
    </dd>
    ${
      stored !== undefined &&
      html`<dt>Issued</dt>
        <dd>${moment(stored.issuedAt, now)} by ${stored.issuer}</dd>`
    }
    ${
      stored?.expiresAt !== undefined &&
      html`<dt>Ends</dt>
        <dd>${moment(stored.expiresAt, now)}</dd>`
    }
    <dt>Issued lately</dt>
    <dd>${count(issuances)}</dd>
    <dt>Last refusal</dt>
    <dd>${refusal === undefined ? 'none in force' : html`<code>${refusal.code}</code>`}</dd>
  </dl>`;
}

import type { NoticeView } from '../../../notices/notice-state.ts';
import { countOf, formatCount } from '../../../format/format.ts';
import { describeNotKept, describePending, nextStep } from '../../notice-words.ts';
import { html, type Html, type Part } from '../http/html.ts';
import { ask, code, dot, form, mayAct, moment, whyField, type PageView } from './elements.ts';

/** The form that looks a notice up. @param given what was looked up last */
export function lookUpForm(given = ''): Html {
  return html`<form method="get" action="/notices" class="card narrow">
    <p>
      <label for="notice-id">Id or idempotency key of a single notice</label>
      <input
        id="notice-id"
        name="id"
        value="${given}"
        maxlength="200"
        autocomplete="off"
        spellcheck="false"
        required
      />
    </p>
    <p><button type="submit">Look up</button></p>
  </form>`;
}

/** What is known of a single notice. */
export function noticePage(notice: NoticeView, view: PageView): Html {
  const { id, state, kept } = notice;
  if (state === 'not-kept') {
    return html`<section class="card empty" id="notice">
      <p role="status">${describeNotKept(kept)}</p>
    </section>`;
  }
  const step = nextStep(notice);
  return html`<section class="card" id="notice" data-refresh>
      <h2><code>${id}</code></h2>
      <p class="states">${stateOf(notice, view)}</p>
      ${step !== undefined && html`<p class="note">${step}</p>`}
      <dl>
        ${facts(notice, view).map(
          ([name, value]) =>
            html`<div>
              <dt>${name}</dt>
              <dd>${value}</dd>
            </div>`,
        )}
      </dl>
    </section>
    ${state === 'pending' && mayAct(view) && cancelForm(id, view)} `;
}

function cancelForm(id: string, view: PageView): Html {
  return html`<section class="card" id="cancel">
    ${ask(
      'Cancel...',
      form(
        view,
        `/api/v1/notices/${encodeURIComponent(id)}/cancel`,
        html`<p>It is cancelled only if it was not sent. This cannot be undone.</p>
          ${whyField('why-cancel')}
          <label class="choice">
            <input type="checkbox" name="releaseKey" />
            <span>Release its idempotency key, so that it can be sent anew with the same key</span>
          </label>
          <button type="submit" class="danger">Cancel the notice</button>`,
      ),
    )}
  </section>`;
}

function stateOf({ state, pending, confirmed }: NoticeView, { now }: PageView): Html {
  const why = pending === undefined ? '' : `, ${describePending(pending, now)}`;
  return html`${dot(state)}${why}${confirmed === false && ', but the answer could not be read completely'}`;
}

function facts(notice: NoticeView, { now }: PageView): readonly (readonly [string, Part])[] {
  const { template, contacts, attempts, possiblySent, delivery, message, remedy } = notice;
  const { enqueuedAt, startedAt, endedAt, expiresAt, traceIds } = notice;
  const time = (at: number | undefined) => (at === undefined ? undefined : moment(at, now));
  const all: readonly (readonly [string, Part | undefined])[] = [
    ['Template', template],
    ['Contacts', formatCount(contacts)],
    ['Delivery', delivery],
    ['Attempts', formatCount(attempts)],
    ['Possibly sent', possiblySent === 0 ? undefined : countOf(possiblySent, 'time')],
    ['Trace ids', traceIds?.map((traceId) => html`<code>${traceId}</code> `)],
    ['Code', code(notice.code)],
    ['Message', message],
    ['Remedy', remedy],
    ['Queued', time(enqueuedAt)],
    ['Started', time(startedAt)],
    ['Ended', time(endedAt)],
    ['Expires', time(expiresAt)],
  ];
  return all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]));
}

import { formatCount } from '../../../format/format.ts';
import type { KeptAudit } from '../../audit.ts';
import type { OperationOutput } from '../../operations/operations.ts';
import { html, type Html } from '../http/html.ts';
import { ask, form, moment, table, whyField, type PageView } from './elements.ts';

/** The audit stream: manual actions, newest first. */
export function auditPage(entries: readonly KeptAudit[], { now }: PageView): Html {
  if (entries.length === 0) {
    return html`<section class="card empty">
      <p>No manual action has been recorded yet.</p>
    </section>`;
  }
  return html`<section class="card" id="audit" data-refresh>
    ${table<KeptAudit>(
      'Manual actions',
      [
        ['When', ({ at }) => moment(at, now)],
        ['Who', ({ who }) => who],
        ['What', ({ what }) => what],
        ['Target', ({ target }) => target],
        ['Decision', ({ as }) => as],
        ['Contacts', ({ contacts }) => contacts !== undefined && formatCount(contacts), 'number'],
        ['Why', ({ why }) => why],
      ],
      entries,
    )}
  </section>`;
}

/** The people who are signed in, for operators. */
export function sessionsSection(
  { sessions }: OperationOutput<'sessions'>,
  view: PageView,
): Html | false {
  return (
    sessions.length > 0 &&
    html`<section class="card" id="sessions">
      <h2>Signed in</h2>
      ${table(
        'People who are signed in',
        [
          ['User', ({ user }) => user],
          ['Since', ({ since }) => moment(since, view.now)],
          ['Last seen', ({ seenAt }) => moment(seenAt, view.now)],
          ['From', ({ network }) => network],
        ],
        sessions,
        ({ user }, index) => [
          ask(
            'End the session...',
            form(
              view,
              '/api/v1/sessions/end',
              html`<p>${user} has to sign in anew.</p>
                <input type="hidden" name="user" value="${user}" />
                ${whyField(`why-end-${index}`)}
                <button type="submit">End the session</button>`,
            ),
          ),
        ],
      )}
    </section>`
  );
}

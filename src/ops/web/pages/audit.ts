import { formatCount } from '../../../format/format.ts';
import type { KeptAudit } from '../../audit.ts';
import { html, type Html } from '../http/html.ts';
import { moment, table, type PageView } from './elements.ts';

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

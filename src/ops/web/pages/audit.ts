import { formatCount } from '../../../format/format.ts';
import type { KeptAudit } from '../../audit.ts';
import { html, type Html } from '../http/html.ts';
import { head, moment, table, type PageView } from './elements.ts';

/** The audit stream: manual actions, newest first. */
export function auditPage(entries: readonly KeptAudit[], { now }: PageView): Html {
  if (entries.length === 0) {
    return html`<section class="card empty">
      <p>No manual action has been recorded yet.</p>
    </section>`;
  }
  return html`<section class="card" id="audit" data-refresh>
    ${table(
      'Manual actions',
      [
        head('When'),
        head('Who'),
        head('What'),
        head('Target'),
        head('Decision'),
        head('Contacts', true),
        head('Why'),
      ],
      entries.map(
        ({ at, who, what, target, as, why, contacts }) =>
          html`<tr>
            <td>${moment(at, now)}</td>
            <td>${who}</td>
            <td>${what}</td>
            <td>${target}</td>
            <td>${as}</td>
            <td class="number">${contacts !== undefined && formatCount(contacts)}</td>
            <td>${why}</td>
          </tr>`,
      ),
    )}
  </section>`;
}

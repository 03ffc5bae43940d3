import type { KeptAudit } from '../../audit.ts';
import { html, type Html } from '../http/html.ts';
import { count, head, moment, table, type PageView } from './elements.ts';

/** What people did by hand, the newest first. */
export function auditPage(entries: readonly KeptAudit[], { now }: PageView): Html {
  if (entries.length === 0) {
    return html`<section class="card empty"><p>Nobody has done anything by hand yet.</p></section>`;
  }
  return html`<section class="card" id="audit" data-refresh>
    ${table(
      'What people did by hand',
      [
        head('When'),
        head('Who'),
        head('What'),
        head('To'),
        head('As'),
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
            <td class="number">${contacts !== undefined && count(contacts)}</td>
            <td>${why}</td>
          </tr>`,
      ),
    )}
  </section>`;
}

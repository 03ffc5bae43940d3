import type { FoundState } from '../../../search/find-in-batches.ts';
import type { FindReport } from '../../../search/find-contact.ts';
import { describeFalsePositiveRate } from '../../../search/false-positive-rate.ts';
import { html, type Html } from '../http/html.ts';
import { csrfField } from './layout.ts';
import { count, head, moment, span, table, type PageView } from './elements.ts';

/** What the page of the search shows. */
export interface FindPageData {
  /** Whether there is anything to find by. */
  readonly canFind: boolean;
  /** Why what was asked for is no phone number. */
  readonly problem?: string;
  readonly report?: FindReport;
}

/**
 * What became of the notices for one phone number. The number is sent in a form and never comes back:
 * it stands in no address, no history and no page.
 */
export function findPage({ canFind, problem, report }: FindPageData, look: PageView): Html {
  if (!canFind) return SWITCHED_OFF;
  return html`${asking(problem, look)} ${report !== undefined && outcome(report, look)}`;
}

const SWITCHED_OFF = html`<section class="card empty">
  <p>Nothing is kept to find a phone number by, since FIND_KEY is not set.</p>
  <p>
    To switch it on, set FIND_KEY to the same 32 random bytes for everything that hands over notices
    or imports lists, and for this server, and start them again. One way to make such a key is
    <code>openssl rand -hex 32</code>. What is handed over from then on is found.
  </p>
</section>`;

function asking(problem: string | undefined, { csrf }: PageView): Html {
  return html`<form method="post" action="/find" class="card narrow">
    ${csrfField(csrf)}
    <p>
      <label for="number">Phone number</label>
      <input
        id="number"
        name="number"
        inputmode="tel"
        autocomplete="off"
        spellcheck="false"
        required
        aria-describedby="${problem === undefined ? 'number-help' : 'number-problem number-help'}"
        ${problem !== undefined && html`aria-invalid="true" autofocus`}
      />
    </p>
    ${
      problem !== undefined &&
      html`<p class="problem" id="number-problem" role="alert">
        Nothing was looked up: ${problem}.
      </p>`
    }
    <p class="quiet small" id="number-help">
      In the national format, such as 01012345678. It is not kept, and not shown again.
    </p>
    <p><button type="submit">Find</button></p>
  </form>`;
}

function outcome({ notices, contacts, searched }: FindReport, look: PageView): Html {
  const rows = [
    ...notices.map((notice) =>
      foundRow(look, notice, html`notice <code>${notice.job}</code>`, 'its job is no longer kept'),
    ),
    ...contacts.map((contact) => {
      const { batch, chunk } = contact;
      const where = html`batch <a href="/batches/${batch}">${batch}</a>, chunk ${count(chunk)}`;
      return foundRow(look, contact, where, 'probably: the contact is deleted');
    }),
  ];
  const heads = ['Where', 'State', 'Confirmed', 'Since', 'Code', 'Template'];
  return html`<section class="card" id="found">
    <h2>Found</h2>
    ${
      rows.length === 0
        ? html`<p role="status">Nothing was found.</p>`
        : table(
            'What was found',
            heads.map((title) => head(title)),
            rows,
          )
    }
    ${seen(searched, look)}
  </section>`;
}

type Found = FindReport['notices'][number] | FindReport['contacts'][number];

function foundRow(
  { now }: PageView,
  { states, confirmed, at, code, template }: Found,
  where: Html,
  doubt: string,
): Html {
  return html`<tr>
    <td>${where}</td>
    <td>${stateWords(states)}</td>
    <td>${confirmed ? 'yes' : doubt}</td>
    <td>${moment(at, now)}</td>
    <td>${code !== undefined && html`<code>${code}</code>`}</td>
    <td>${template}</td>
  </tr>`;
}

/** A state that is certain has its colour. */
function stateWords(states: readonly FoundState[]): Html {
  const [first] = states;
  return html`${states.length === 1 && html`<i class="dot ${first}"></i>`}${states.join(' or ')}`;
}

/** How far the search could see. */
function seen(searched: FindReport['searched'], { now }: PageView): Html {
  const { since, batches, contacts, unindexedChunks, wrongHit } = searched;
  return html`<p class="quiet">
      Looked at what was handed over in the last ${span(Math.max(0, now - since))}: single notices,
      and ${count(contacts)} contacts of ${count(batches)} batches.
    </p>
    ${
      unindexedChunks > 0 &&
      html`<p class="note">
        ${count(unindexedChunks)} chunks could not be looked through: stored without FIND_KEY, or
        too long ago.
      </p>`
    }
    ${
      contacts > 0 &&
      html`<p class="quiet">
        The chance that a contact that is not confirmed belongs to another number:
        ${describeFalsePositiveRate(wrongHit)}.
      </p>`
    }`;
}
